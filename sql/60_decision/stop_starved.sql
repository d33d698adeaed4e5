-- Approvals nobody is left to decide: closed, and their steps stopped with an incident that names who was asked. Resolving it asks anew.
-- Writes:   what close_waits and open_incidents write. The instances are locked.
create or replace function bpm_core.stop_starved(p_tenant_id text, p_approvals uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_troubles bpm_core.trouble[];
begin
  v_troubles := array(
    select row(row(a.tenant_id, a.workflow_instance_id, w.workflow_version_id, t.scope_id, a.token_id, a.node_id, t.via_flow_id, null)::bpm_core.moving,
               'NoApprover', format('Nobody is left who could decide about %s.', a.node_id),
               jsonb_build_object('approval', a.id, 'required', a.required_approvals, 'approvers', a.approvers, 'exclude', a.exclude,
                                  'excluded', a.excluded_actors))::bpm_core.trouble
      from (select p_tenant_id as tenant_id, k.id from unnest(p_approvals) k(id) offset 0) k
     cross join lateral (select a.* from bpm_core.approval_record a where a.tenant_id = k.tenant_id and a.id = k.id offset 0) a
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id offset 0) w
     cross join lateral (select t.scope_id, t.via_flow_id from bpm_core.token t where t.tenant_id = a.tenant_id and t.id = a.token_id offset 0) t
     where a.status = 'Pending');
  perform bpm_core.close_waits(array(select x.token from unnest(v_troubles) x));
  perform bpm_core.open_incidents(v_troubles);
end
$$;
