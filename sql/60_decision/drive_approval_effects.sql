-- Picks decided approvals whose effect is pending, oldest decision first, at most one per instance, and lets them take effect.
-- Ordinarily there are none: a decision takes effect in its own transaction. Those of a suspended instance are passed over.
-- Returns:  integer, how many took effect.
-- Locks:    workflow_instance, skip locked.
create or replace function bpm_core.drive_approval_effects(p_tenant_id text, p_limit integer)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_found uuid[];
begin
  with oldest as materialized (
    select a.id, a.workflow_instance_id, a.decided_at
      from bpm_core.approval_record a
     -- Locked while picking, as in drive_approval_times.
     cross join lateral (select w.id from bpm_core.workflow_instance w
                          where w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id and w.status <> 'Suspended'
                            for no key update skip locked) w
     where a.effect = 'Pending' and a.status in ('Approved', 'Rejected', 'Expired') and a.tenant_id = p_tenant_id
     order by a.decided_at, a.id
     limit p_limit)
  select array_agg(f.id) into v_found
    from (select distinct on (o.workflow_instance_id) o.id
            from oldest o
           order by o.workflow_instance_id, o.decided_at, o.id) f;
  if v_found is null then
    return 0;
  end if;
  return bpm_core.apply_unheld_approvals(p_tenant_id, v_found, false);
end
$$;
