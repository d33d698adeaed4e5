-- The tenants the caller may read; views and row level security filter by it once per query (an InitPlan), not once per row.
-- Security definer, and executable by the four roles: the functions of a view run with the rights of its reader, its tables with the owner's.
-- Returns:  setof text, tenant ids.
create or replace function bpm_core.visible_tenants()
returns setof text
language sql stable security definer parallel safe
set search_path = pg_catalog, pg_temp
as $$ select t.tenant_id from bpm_core.granted_tenants(bpm_core.caller(), 'reader') t(tenant_id) $$;
