-- The monthly partitions of history.
-- Returns:  rows: partition, from_at, until_at, oldest first.
create or replace function bpm_core.history_bounds()
returns table (partition text, from_at timestamptz, until_at timestamptz)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.relname::text, b.bounds[1]::timestamptz, b.bounds[2]::timestamptz
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   cross join lateral (select regexp_match(pg_get_expr(c.relpartbound, c.oid), '^FOR VALUES FROM \(''([^'']+)''\) TO \(''([^'']+)''\)')) b(bounds)
   where i.inhparent = 'bpm_core.history_event'::regclass
   order by 2
$$;
