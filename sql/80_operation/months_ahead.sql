-- For how many months after this one does history have a partition, without a gap?
-- Returns:  integer; -1 when this month itself has none.
create or replace function bpm_core.months_ahead()
returns integer
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(min(m.n), 121) - 1
    from generate_series(0, 120) m(n)
   where not exists (
     select
       from pg_inherits i
      where i.inhparent = 'bpm_core.history_event'::regclass
        and i.inhrelid = to_regclass('bpm_core.' || to_char(date_trunc('month', bpm_core.now() at time zone 'UTC') + make_interval(months => m.n),
                                                            '"history_event_y"YYYY"m"MM')))
$$;
