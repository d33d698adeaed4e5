-- Does a grant give this role this capability for this tenant? Grants to roles the caller is a member of count.
-- Returns:  boolean. Each capability includes those before it: reader, worker, operator, admin.
create or replace function bpm_core.is_granted(p_role text, p_tenant_id text, p_capability bpm_core.capability)
returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select
      from bpm_core.tenant_grant g
     where (g.tenant_pattern = p_tenant_id
            or (right(g.tenant_pattern, 1) = '%' and starts_with(p_tenant_id, left(g.tenant_pattern, -1))))
       and g.capability >= p_capability
       and (g.role_name = p_role
            or exists (select from pg_roles r where r.rolname = g.role_name and pg_has_role(p_role, r.oid, 'member'))))
$$;
