-- Does a grant give this role this capability for this tenant? Grants to roles the caller is a member of count.
-- In PL/pgSQL because a SQL function would be planned anew with every call of every public function.
-- Returns:  boolean. Each capability includes those before it: reader, worker, operator, admin.
create or replace function bpm_core.is_granted(p_role text, p_tenant_id text, p_capability bpm_core.capability)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (
           select
             from bpm_core.tenant_grant g
            where g.role_name = p_role and g.tenant_pattern = p_tenant_id and g.capability >= p_capability)
      or exists (
           select
             from bpm_core.tenant_grant g
            where g.capability >= p_capability
              and (g.tenant_pattern = p_tenant_id
                   or (right(g.tenant_pattern, 1) = '%' and starts_with(p_tenant_id, left(g.tenant_pattern, -1))))
              and (g.role_name = p_role
                   or exists (select from pg_roles r where r.rolname = g.role_name and pg_has_role(p_role, r.oid, 'member'))));
end
$$;
