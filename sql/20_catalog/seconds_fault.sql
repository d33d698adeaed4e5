-- What is wrong with the times a destination's configuration allows.
-- Returns:  text, null when nothing is.
create or replace function bpm_core.seconds_fault(p_config jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select min(format('%s must be a number above 0, at most 600.', k.name))
    from (values ('timeout_seconds'), ('connect_timeout_seconds')) k(name)
   where p_config ? k.name
     and (jsonb_typeof(p_config -> k.name) <> 'number' or not (p_config -> k.name) @? '$ ? (@ > 0 && @ <= 600)')
$$;
