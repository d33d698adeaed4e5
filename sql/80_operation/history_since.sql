-- From when on is history kept? Instances older than the oldest partition have lost theirs and cannot be judged by it.
-- Returns:  timestamptz, the lower bound of the oldest partition.
create or replace function bpm_core.history_since()
returns timestamptz
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(min((regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM \(''([^'']+)''\)'))[1]::timestamptz), 'infinity')
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'bpm_core.history_event'::regclass
$$;
