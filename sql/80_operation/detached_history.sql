-- A month of history that retention detached and that is still to be dropped.
-- Returns:  text, the name of the table in bpm_core; null: there is none.
create or replace function bpm_core.detached_history()
returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select c.relname::text
    from pg_class c
   where c.relnamespace = 'bpm_core'::regnamespace and c.relkind = 'r' and c.relname ~ '^history_event_y[0-9]{4,}m[0-9]{2}$' and not c.relispartition
     and obj_description(c.oid, 'pg_class') = 'pgbpm: history detached by retention, to be dropped'
   order by c.relname
   limit 1
$$;
