-- Drops a month of history that was detached.
-- Returns:  jsonb {rows (as estimated), bytes}.
-- Raises:   55P03 somebody reads it.
-- Writes:   tables. Locks: the table, access exclusive.
create or replace function bpm_core.drop_history(p_partition text)
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_detail jsonb;
begin
  select jsonb_build_object('rows', greatest(c.reltuples, 0)::bigint, 'bytes', pg_total_relation_size(c.oid)) into v_detail
    from pg_class c
   where c.oid = format('bpm_core.%I', p_partition)::regclass;
  execute format('drop table bpm_core.%I', p_partition);
  return v_detail;
end
$$;
