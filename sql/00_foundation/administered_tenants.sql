-- The tenants the caller administers; the view of grants filters by it. Definer for the same reason as bpm_core.visible_tenants.
-- Returns:  setof text, tenant ids.
create or replace function bpm_core.administered_tenants()
returns setof text
language sql stable security definer parallel safe
set search_path = pg_catalog, pg_temp
as $$ select t.tenant_id from bpm_core.granted_tenants(bpm_core.caller(), 'admin') t(tenant_id) $$;
