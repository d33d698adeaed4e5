-- The tenants a runner of this caller should look after: those it is granted as worker and that are not suspended.
-- Returns:  setof text, tenant ids, sorted.
create or replace function bpm.tenants_with_work()
returns setof text
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select t.tenant_id
    from bpm_core.tenant t
   where t.state = 'Active'
     and bpm_core.is_granted(bpm_core.caller(), t.tenant_id, 'worker')
   order by t.tenant_id
$$;
