-- How many rows the tables hold, as the statistics know it: of all tenants together, without counting.
-- Returns:  jsonb {table: rows}.
create or replace function bpm_core.size_estimates()
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select jsonb_object_agg(s.name, s.rows order by s.name)
    from (
      select coalesce(parent.relname, c.relname) as name, sum(greatest(c.reltuples, 0))::bigint as rows
        from pg_class c
        left join pg_inherits i on i.inhrelid = c.oid
        left join pg_class parent on parent.oid = i.inhparent
       where c.relnamespace = 'bpm_core'::regnamespace and c.relkind = 'r'
       group by coalesce(parent.relname, c.relname)) s
$$;
