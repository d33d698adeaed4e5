-- The tenants a role is granted a capability for. Its grants are read once and the tenants looked up by them: a set of tens of thousands of tenants is
-- not asked about one by one.
-- Returns:  setof text, tenant ids in no order; suspended tenants too.
create or replace function bpm_core.granted_tenants(p_role text, p_capability bpm_core.capability)
returns setof text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_patterns text[] := array(
    select distinct g.tenant_pattern
      from bpm_core.tenant_grant g
     where g.capability >= p_capability
       and (g.role_name = p_role or g.role_name = any (array(select bpm_core.roles_of(p_role)))
            or (select r.rolsuper from pg_roles r where r.rolname = p_role::name)));
begin
  if '%' = any (v_patterns) then
    return query select t.tenant_id from bpm_core.tenant t;
    return;
  end if;
  return query
  select t.tenant_id
    from bpm_core.tenant t
   where t.tenant_id = any (v_patterns)
  union
  select t.tenant_id
    from bpm_core.tenant t
   where exists (select from unnest(v_patterns) g(pattern) where right(g.pattern, 1) = '%' and starts_with(t.tenant_id, left(g.pattern, -1)));
end
$$;
