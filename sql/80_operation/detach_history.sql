-- Detaches one month of history and marks it as ours to be dropped: what somebody else detached, to keep it elsewhere, is left alone.
-- Not concurrently: that cannot be done in a function, and it waits for every transaction that has read the table. The lock is held for a change of the catalog.
-- Returns:  jsonb {until, rows (as estimated), bytes}.
-- Raises:   55P03 the lock was not to be had.
-- Writes:   tables. Locks: history_event, access exclusive.
create or replace function bpm_core.detach_history(p_partition text, p_until timestamptz)
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  execute format('alter table bpm_core.history_event detach partition bpm_core.%I', p_partition);
  execute format('comment on table bpm_core.%I is %L', p_partition, 'pgbpm: history detached by retention, to be dropped');
  return (select jsonb_build_object('until', p_until, 'rows', greatest(c.reltuples, 0)::bigint, 'bytes', pg_total_relation_size(c.oid))
            from pg_class c
           where c.oid = format('bpm_core.%I', p_partition)::regclass);
end
$$;
