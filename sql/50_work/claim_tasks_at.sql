-- Like claim_tasks, from where the caller's positions stand; what runners use. Hand back the positions with the next claim, also after an empty one.
-- After a rolled-back claim drop them.
-- p_request_id as in claim_tasks; a claim given again hands the positions back as they came.
-- Returns:  one row: tasks jsonb (array of objects with the columns of claim_tasks), positions jsonb (opaque),
--           next_due_at (of an empty claim: when the next task of these types becomes ready; null: none known, or look again at once).
-- Raises:   BP403, BP409, BP422 as claim_tasks; BP400 positions that are not ours.
-- Writes:   as claim_tasks. Locks: as claim_tasks.
create or replace function bpm.claim_tasks_at(
  p_worker text, p_types text[], p_limit integer default 1, p_lease interval default null, p_request_id text default null,
  p_positions jsonb default null, p_tenant_id text default '')
returns table (tasks jsonb, positions jsonb, next_due_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now       timestamptz;
  v_slots     bpm_core.claim_slot[];
  v_claimed   bpm_core.claimed_task[];
  v_suspended boolean;
begin
  if not bpm_core.enter_call(p_tenant_id, 'worker') then
    return;
  end if;
  if not bpm_core.is_usual_claim(p_worker, p_types, p_limit, p_lease, p_request_id) then
    perform bpm_core.check_claim(p_worker, p_types, p_limit, p_lease, p_request_id);
  end if;
  if p_request_id is not null then
    v_claimed := bpm_core.replayed_claim(p_tenant_id, p_worker, p_types, p_limit, p_lease, p_request_id);
    if v_claimed is not null then
      perform bpm_core.check_positions(p_positions, 'object');
      tasks := bpm_core.claimed_json(v_claimed);
      positions := coalesce(p_positions, '{}');
      return next;
      return;
    end if;
  end if;
  v_now := bpm_core.now();
  if p_request_id is null and p_positions ? '' then
    v_slots := bpm_core.quick_slots(p_types, p_positions, v_now);
  end if;
  if v_slots is not null then
    -- claim_ready_tasks without request id and quotas, in place: its call would be a tenth of a small claim. In the order picked, since the loop over it is the only plan there is.
    with picked as materialized (
      select c.tenant_id, c.id
        from unnest(v_slots) s
       cross join lateral (
         select t.tenant_id, t.id
           from bpm_core.task_instance t
          where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type = s.task_type and t.priority_level = s.priority_level
            and t.available_at <= v_now and (t.available_at, t.id) > (s.from_at, s.from_id)
          order by t.available_at, t.id
          limit p_limit
            for no key update skip locked) c
       where not exists (select from bpm_core.task_quota q where q.tenant_id = p_tenant_id)
       limit p_limit),
    leased as (
      update bpm_core.task_instance t
         set state = 'Executing', attempt = t.attempt + 1, fencing_token = t.fencing_token + 1, worker_id = p_worker, claimed_at = v_now,
             lease_until = v_now + coalesce(p_lease, t.lease), claim_request_id = null, type_slot = null, tenant_slot = null
        from picked p
       where t.tenant_id = p.tenant_id and t.id = p.id
      returning t.tenant_id, t.id, t.workflow_instance_id, t.scope_id, t.node_id, t.task_type, t.available_at, t.attempt, t.fencing_token, t.lease_until, t.input,
                t.headers)
    select array_agg(c.task), jsonb_agg(to_jsonb(c.task) - '{slot,available_at,suspended}'::text[]), bool_or((c.task).suspended)
      into v_claimed, tasks, v_suspended
      from (
        select row(null, l.available_at, l.id, w.process_instance_id, l.workflow_instance_id, p.business_key, l.node_id, l.task_type, l.attempt, l.fencing_token,
                   l.lease_until, bpm_core.offered_variables(l.tenant_id, l.scope_id, coalesce(w.inputs, p.variables), w.variables, l.input),
                   coalesce(l.headers, '{}'), w.status = 'Suspended' or p.status <> 'Running')::bpm_core.claimed_task as task
          from leased l
         cross join lateral (select w.tenant_id, w.process_instance_id, w.inputs, w.variables, w.status from bpm_core.workflow_instance w
                              where w.tenant_id = l.tenant_id and w.id = l.workflow_instance_id offset 0) w
         cross join lateral (select p.business_key, p.variables, p.status from bpm_core.process_instance p
                              where p.tenant_id = w.tenant_id and p.id = w.process_instance_id offset 0) p
        offset 0) c;
    positions := bpm_core.quick_positions(p_positions, p_positions -> '' ->> 'level', v_claimed[cardinality(v_claimed)], cardinality(v_claimed) = p_limit);
    if not v_suspended then
      return next;
      return;
    end if;
  end if;
  if v_claimed is null then
    select c.claimed, c.positions into v_claimed, positions
      from bpm_core.claim_from_positions(p_tenant_id, p_worker, p_types, p_limit, p_lease, p_request_id, p_positions, v_now) c;
  end if;
  if v_claimed = '{}' then
    next_due_at := bpm_core.next_task_due(p_tenant_id, p_types, v_now);
  elsif exists (select from unnest(v_claimed) c where c.suspended) then
    v_claimed := bpm_core.put_back_claimed(p_tenant_id, v_claimed);
  end if;
  tasks := bpm_core.claimed_json(v_claimed);
  if p_request_id is not null then
    perform bpm_core.remember_claim(p_tenant_id, p_worker, p_types, p_limit, p_lease, p_request_id, v_claimed);
  end if;
  return next;
end
$$;
