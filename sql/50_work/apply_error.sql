-- Under the lock: raises a BPMN error that was parked. Should no boundary catch it any more (the instance was migrated) it is an incident.
-- Writes:   workflow_instance, history_event, and what raise_errors or open_incidents write.
create or replace function bpm_core.apply_error(p_tenant_id text, p_answer jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_task     bpm_core.task_instance;
  v_token    bpm_core.moving;
  v_local    jsonb;
  v_uncaught bpm_core.thrown[];
begin
  select t.* into r_task from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = (p_answer ->> 'task')::uuid;
  v_token := (
    select row(t.tenant_id, t.workflow_instance_id, w.workflow_version_id, t.scope_id, t.id, t.node_id, t.via_flow_id, null)::bpm_core.moving
      from bpm_core.token t
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     where t.tenant_id = p_tenant_id and t.id = r_task.token_id and t.state = 'Waiting' and t.visit = r_task.visit);
  if v_token.token_id is null then
    return;
  end if;
  v_local := bpm_core.local_names(p_tenant_id, r_task.scope_id, p_answer -> 'variables');
  update bpm_core.workflow_instance w
     set lock_version = w.lock_version + 1,
         variables = w.variables || bpm_core.patch_scopes(p_tenant_id, coalesce(r_task.scope_id, bpm_core.root_scope()), p_answer -> 'variables')
   where w.tenant_id = p_tenant_id and w.id = r_task.workflow_instance_id;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, actor, detail)
  values (p_tenant_id, r_task.workflow_instance_id, bpm_core.now(), 'ErrorThrown', r_task.token_id, v_token.node_id, r_task.worker_id,
          jsonb_build_object('task', r_task.id, 'attempt', r_task.attempt, 'error', p_answer -> 'error', 'variables', p_answer -> 'variables') || v_local);
  v_uncaught := bpm_core.raise_errors(array[row(1, v_token, p_answer #>> '{error,code}', p_answer #>> '{error,message}')::bpm_core.thrown]);
  perform bpm_core.open_incidents(array(
    select row(u.token, 'UncaughtError', format('Error %s at %s is caught by nobody.', u.code, (u.token).node_id),
               jsonb_build_object('error', p_answer -> 'error'))::bpm_core.trouble
      from unnest(v_uncaught) u));
end
$$;
