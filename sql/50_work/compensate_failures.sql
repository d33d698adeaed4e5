-- Exhausted tasks inside of a saga fail that: it undoes what was done in it, and the error AttemptsExhausted goes outwards. In a suspended instance nothing
-- moves: there they are incidents.
-- Returns:  uuid[], the tasks that are in none. Writes: what take_error and the path ahead write. The instances are locked.
create or replace function bpm_core.compensate_failures(p_tenant_id text, p_tasks uuid[])
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_others  uuid[] := '{}'::uuid[];
  v_leaving bpm_core.moving[] := '{}'::bpm_core.moving[];
  v_saga    bpm_core.catch;
  r_task    record;
begin
  for r_task in
    select k.id, row(p_tenant_id, t.workflow_instance_id, w.workflow_version_id, coalesce(t.scope_id, bpm_core.root_scope()), t.token_id, t.node_id,
                     null, null)::bpm_core.moving as token, w.status,
           format('Task %s (%s) at %s failed in attempt %s of %s.', t.id, t.task_type, t.node_id, t.attempt, t.max_attempts) as message
      from (select p_tenant_id as tenant_id, x.* from unnest(p_tasks) x(id) offset 0) k
     cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t
     cross join lateral (select w.workflow_version_id, w.status from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
  loop
    v_saga := bpm_core.find_saga(r_task.token);
    if v_saga.node_id is null or r_task.status <> 'Running' then
      v_others := v_others || r_task.id;
    elsif cardinality(bpm_core.drop_dead(array[r_task.token])) > 0 then
      -- Of two in the same saga the first has ended the other.
      v_leaving := v_leaving || bpm_core.take_error(row(0, r_task.token, 'AttemptsExhausted', r_task.message)::bpm_core.thrown, v_saga);
    end if;
  end loop;
  if cardinality(v_leaving) > 0 then
    perform bpm_core.bump_instances(p_tenant_id, array(select l.instance_id from unnest(v_leaving) l));
    perform bpm_core.advance_isolated(bpm_core.drop_dead(v_leaving));
  end if;
  return v_others;
end
$$;
