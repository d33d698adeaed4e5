-- Creates what is missing of the monthly partitions of history_event: the month before this one, this one, and p_months ahead.
-- A table is made first and attached then, since attaching blocks no reader or writer of its siblings, unlike create … partition of.
-- Months begin at midnight UTC, wherever the server stands.
-- Returns:  one row per month, with action Created or Present.
-- Raises:   55P03 when the lock cannot be had in time.
-- Writes:   tables bpm_core.history_event_yYYYYmMM. Locks: history_event, share update exclusive.
create or replace function bpm_core.create_history_partitions(p_months integer)
returns table (partition text, action text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
  v_this  timestamp := date_trunc('month', bpm_core.now() at time zone 'UTC');
  v_month timestamp;
begin
  for v_month in
    select generate_series(v_this - interval '1 month', v_this + make_interval(months => p_months), interval '1 month')
  loop
    partition := 'history_event_' || to_char(v_month, '"y"YYYY"m"MM');
    action := 'Present';
    if to_regclass(format('bpm_core.%I', partition)) is null then
      execute format(
        'create table bpm_core.%I (like bpm_core.history_event including defaults including constraints including storage) '
        'with (autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05)', partition);
      perform bpm_core.protect_table(format('bpm_core.%I', partition)::regclass);
      execute format(
        'alter table bpm_core.history_event attach partition bpm_core.%I for values from (%L) to (%L)',
        partition, v_month at time zone 'UTC', (v_month + interval '1 month') at time zone 'UTC');
      action := 'Created';
    end if;
    return next;
  end loop;
end
$$;
