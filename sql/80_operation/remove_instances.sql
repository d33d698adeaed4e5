-- One page of a pass over the process instances of a tenant: those that have had their time go, with everything in them; what has to stay is counted.
-- Facts stay with the results and reviews they rest on, and so do history, the audit, idempotency keys, evidence and business cases. What is left of an
-- instance is its row in removed_instance.
-- Returns:  next: the last one looked at; null: there are no more. removed. reasons: why what has had its time was kept, one each. oldest_kept. rows: how many of
--           each table.
-- Writes:   every table of instances, removed_instance, audit_event. Locks: lock_to_remove.
create or replace function bpm_core.remove_instances(
  p_tenant_id text, p_after uuid, p_limit integer, p_actor text, p_now timestamptz,
  out next uuid, out removed integer, out reasons text[], out oldest_kept uuid, out rows jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_page      record;
  v_all       bpm_core.removable[];
  v_processes uuid[];
  v_workflows uuid[];
  v_audit     uuid := bpm_core.new_id();
begin
  v_page := bpm_core.instances_to_remove(p_tenant_id, p_after, p_limit, p_now);
  v_all := bpm_core.lock_to_remove(p_tenant_id, v_page.chosen, p_now);
  v_processes := array(select a.process_instance_id from unnest(v_all) a where a.reason is null);
  v_workflows := array(select w.id from unnest(v_all) a cross join lateral unnest(a.workflow_instances) w(id) where a.reason is null);
  rows := '{}';
  if v_processes <> '{}' then
    perform bpm_core.leave_traces(p_tenant_id, array(select a from unnest(v_all) a where a.reason is null), v_audit, p_now);
    rows := bpm_core.remove_decisions(p_tenant_id, v_workflows)
         || bpm_core.remove_tasks(p_tenant_id, v_workflows, bpm_core.tasks_of(p_tenant_id, v_workflows))
         || bpm_core.remove_commands(p_tenant_id, v_workflows)
         || bpm_core.unlink_instances(p_tenant_id, v_processes)
         || bpm_core.remove_waits(p_tenant_id, v_workflows)
         || bpm_core.remove_paths(p_tenant_id, v_processes, v_workflows);
    rows := (select jsonb_object_agg(r.key, r.value) from jsonb_each(rows) r where r.value <> '0');
    insert into bpm_core.audit_event (tenant_id, id, actor, action, aggregate_type, aggregate_id, detail, at)
    values (p_tenant_id, v_audit, p_actor, 'RemoveInstances', 'retention', 'instances',
            jsonb_build_object('process_instances', cardinality(v_processes), 'first', v_processes[1], 'last', v_processes[cardinality(v_processes)], 'rows', rows), p_now);
  end if;
  next := v_page.reached;
  removed := cardinality(v_processes);
  reasons := array(select a.reason from unnest(v_all) a where a.reason is not null);
  oldest_kept := (select a.process_instance_id from unnest(v_all) with ordinality a where a.reason is not null order by a.ordinality limit 1);
end
$$;
