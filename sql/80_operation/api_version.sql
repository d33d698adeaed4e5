-- Which versions of this interface the database serves; a driver outside the range refuses to work.
-- Returns:  one row (lowest, highest). Open to all four roles, whatever their tenants.
create or replace function bpm.api_version()
returns table (lowest integer, highest integer)
language sql immutable parallel safe security definer
set search_path = pg_catalog, pg_temp
as $$ select 1, 1 $$;
