-- Holds tasks of an instance that nobody has in hand (p_hold), or lets held ones be handed out again, each when its pause is over. Tasks in
-- hand are left alone. The instance is locked.
-- Returns:  integer, how many were found; at most p_limit. Writes: task_instance, history_event. Locks: task_instance.
create or replace function bpm_core.hold_tasks(p_tenant_id text, p_instance_id uuid, p_hold boolean, p_limit integer)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_from  constant bpm_core.task_state := case when p_hold then 'Ready' else 'Held' end::bpm_core.task_state;
  v_to    constant bpm_core.task_state := case when p_hold then 'Held' else 'Ready' end::bpm_core.task_state;
  v_found uuid[];
begin
  v_found := array(
    select t.id
      from (select t.tenant_id, t.id, t.state from bpm_core.task_instance t where t.workflow_instance_id = p_instance_id offset 0) t
     where t.tenant_id = p_tenant_id and t.state = v_from
     limit p_limit);
  if cardinality(v_found) = 0 then
    return 0;
  end if;
  -- A claim may have one of them just now: waited for, then looked at again.
  perform bpm_core.lock_tasks(p_tenant_id, v_found);
  with standing as materialized (
    select t.tenant_id, t.id
      from unnest(v_found) k(id)
     cross join lateral (select t.tenant_id, t.id, t.state from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = k.id offset 0) t
     where t.state = v_from),
  turned as (
    update bpm_core.task_instance t
       set state = v_to, available_at = case when p_hold then t.available_at else greatest(t.available_at, bpm_core.now()) end
      from standing s
     where t.tenant_id = s.tenant_id and t.id = s.id
    returning t.id, t.token_id, t.node_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
  select p_tenant_id, p_instance_id, bpm_core.now(), case when p_hold then 'TaskHeld' else 'TaskReleased' end::bpm_core.history_kind,
         t.token_id, t.node_id, v_from::text, v_to::text, jsonb_build_object('task', t.id)
    from turned t;
  if not p_hold then
    perform bpm_core.wake_sleepers('tasks', p_tenant_id);
  end if;
  return cardinality(v_found);
end
$$;
