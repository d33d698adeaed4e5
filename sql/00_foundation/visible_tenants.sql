-- The tenants the caller may read; views filter by it once per query (an InitPlan), not once per row.
-- Security definer, and executable by the four roles: the functions of a view run with the rights of its reader, its tables with the owner's.
-- Returns:  setof text, tenant ids.
create or replace function bpm_core.visible_tenants()
returns setof text
language sql stable security definer parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select t.tenant_id
    from bpm_core.tenant t
   where bpm_core.is_granted(bpm_core.caller(), t.tenant_id, 'reader')
$$;
