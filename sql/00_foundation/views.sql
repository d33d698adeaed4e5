-- Tenants and who may what for them, for looking at. Filtered by the caller's tenants once per query (an InitPlan).

create or replace view bpm.tenant with (security_barrier) as
select t.tenant_id,
       t.name,
       t.state,
       t.created_at,
       t.weight
  from bpm_core.tenant t
 where t.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.tenant is 'The tenants the caller may read, Active or Suspended.';

create or replace view bpm.access with (security_barrier) as
select c.tenant_id,
       c.role_name,
       c.tenant_pattern,
       c.capability::text as capability,
       c.granted_by,
       c.granted_at
  from (
    select t.tenant_id, g.role_name, g.tenant_pattern, g.capability, g.granted_by, g.granted_at
      from bpm_core.tenant_grant g
      join bpm_core.tenant t
        on t.tenant_id = g.tenant_pattern
        or (right(g.tenant_pattern, 1) = '%' and starts_with(t.tenant_id, left(g.tenant_pattern, -1)))
    union all
    select '', g.role_name, g.tenant_pattern, g.capability, g.granted_by, g.granted_at
      from bpm_core.tenant_grant g
     where not exists (
             select
               from bpm_core.tenant t
              where t.tenant_id = g.tenant_pattern
                 or (right(g.tenant_pattern, 1) = '%' and starts_with(t.tenant_id, left(g.tenant_pattern, -1))))) c
 where c.tenant_id = any (array(select bpm_core.administered_tenants()));
comment on view bpm.access is 'Who may what for each tenant the caller administers, and by which grant. A grant that covers no tenant yet stands with the tenant without a name.';
