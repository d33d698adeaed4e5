-- Does a grant give this role this capability for this tenant? Grants to roles the caller is a member of count; a superuser is a member of all.
-- In PL/pgSQL because a SQL function would be planned anew with every call of every public function. Every step looks up by key: a server of ten thousand
-- tenants has as many grants, and this is asked first in every call.
-- Returns:  boolean. Each capability includes those before it: reader, worker, operator, admin.
create or replace function bpm_core.is_granted(p_role text, p_tenant_id text, p_capability bpm_core.capability)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if exists (
    select
      from bpm_core.tenant_grant g
     where g.role_name = p_role and g.tenant_pattern = p_tenant_id and g.capability >= p_capability)
  then
    return true;
  elsif exists (
    select
      from bpm_core.tenant_grant g
     where g.role_name = p_role and right(g.tenant_pattern, 1) = '%' and starts_with(p_tenant_id, left(g.tenant_pattern, -1)) and g.capability >= p_capability)
  then
    return true;
  elsif exists (
    select
      from bpm_core.roles_of(p_role) m(role_name)
     cross join lateral (
       select g.capability
         from bpm_core.tenant_grant g
        where g.role_name = m.role_name and g.tenant_pattern = p_tenant_id
       union all
       select g.capability
         from bpm_core.tenant_grant g
        where g.role_name = m.role_name and right(g.tenant_pattern, 1) = '%' and starts_with(p_tenant_id, left(g.tenant_pattern, -1))
       offset 0) g
     where g.capability >= p_capability)
  then
    return true;
  elsif not coalesce((select r.rolsuper from pg_roles r where r.rolname = p_role::name), false) then
    return false;
  end if;
  return exists (
           select
             from bpm_core.tenant_grant g
            where g.tenant_pattern = p_tenant_id and g.capability >= p_capability)
      or exists (
           select
             from bpm_core.tenant_grant g
            where right(g.tenant_pattern, 1) = '%' and starts_with(p_tenant_id, left(g.tenant_pattern, -1)) and g.capability >= p_capability);
end
$$;
