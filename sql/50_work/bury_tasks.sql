-- Failed tasks stop their tokens: one incident and one dead letter each, in the transaction of the failure.
-- Their last execution row says what went wrong. Writes: token, incident, dead_letter, history_event.
create or replace function bpm_core.bury_tasks(p_tenant_id text, p_tasks uuid[], p_code text, p_now timestamptz)
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
  if coalesce(cardinality(p_tasks), 0) = 0 then
    return;
  end if;
  v_troubles := array(
    select row(row(p_tenant_id, t.workflow_instance_id, w.workflow_version_id, k.scope_id, t.token_id, t.node_id, k.via_flow_id, null)::bpm_core.moving,
               p_code,
               format('Task %s (%s) at %s failed in attempt %s of %s: %s', t.id, t.task_type, t.node_id, t.attempt, t.max_attempts,
                      coalesce(e.error ->> 'message', e.error #>> '{}', 'no reason given')),
               jsonb_build_object('task', t.id, 'task_type', t.task_type, 'attempt', t.attempt, 'error', e.error))::bpm_core.trouble
      from (select p_tenant_id as tenant_id, x.* from unnest(p_tasks) x(id) offset 0) x
     cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = x.tenant_id and t.id = x.id offset 0) t
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     cross join lateral (select k.scope_id, k.via_flow_id from bpm_core.token k where k.tenant_id = t.tenant_id and k.id = t.token_id offset 0) k
      left join lateral (select e.error from bpm_core.execution e
                          where e.tenant_id = t.tenant_id and e.task_instance_id = t.id and e.attempt = t.attempt offset 0) e on true);
  insert into bpm_core.dead_letter (tenant_id, id, workflow_instance_id, token_id, task_instance_id, incident_id, kind, error, variables, created_at)
  select p_tenant_id, bpm_core.new_id(), i.workflow_instance_id, i.token_id, (i.detail ->> 'task')::uuid, i.id, 'Task',
         coalesce(i.detail -> 'error', 'null'), v.variables, p_now
    from bpm_core.open_incidents(v_troubles) i
   cross join lateral (select t.scope_id from bpm_core.token t where t.tenant_id = i.tenant_id and t.id = i.token_id offset 0) t
   cross join lateral bpm_core.token_variables(p_tenant_id, i.workflow_instance_id, t.scope_id) v;
end
$$;
