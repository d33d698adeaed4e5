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
  v_scans     bpm_core.slot_scan[];
  v_slots     bpm_core.claim_slot[];
  v_claimed   bpm_core.claimed_task[];
  v_exhausted boolean;
  v_limited   text[];
  v_suspended boolean;
begin
  if not (bpm_core.enter_call(p_tenant_id, 'worker') and bpm_core.check_claim(p_worker, p_types, p_limit, p_lease, p_request_id)) then
    return;
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
  if p_positions ? '' then
    v_slots := bpm_core.quick_slots(p_types, p_positions -> '', v_now);
  end if;
  if v_slots is not null then
    select array_agg(c), jsonb_agg(to_jsonb(c) - '{slot,available_at,suspended}'::text[]), bool_or(c.suspended) into v_claimed, tasks, v_suspended
      from bpm_core.claim_ready_tasks(p_tenant_id, p_worker, v_slots, p_limit, p_lease, p_request_id, v_now) c
     where not exists (select from bpm_core.task_quota q where q.tenant_id = p_tenant_id);
    positions := bpm_core.quick_positions(p_positions, v_claimed, p_limit);
  end if;
  if v_claimed is null then
    v_scans := bpm_core.open_slots(p_tenant_id, p_types, p_positions, v_now);
    v_slots := array(
      select row(s.task_type, s.priority_level, s.from_at, s.from_id, null, null,
                 (select array_agg(q) from bpm_core.task_quota q where q.tenant_id = p_tenant_id))::bpm_core.claim_slot
        from unnest(v_scans) s);
    if (v_slots[1].quotas is null and v_slots[1].priority_level = v_slots[cardinality(v_slots)].priority_level) is not false then
      v_claimed := array(select c from bpm_core.claim_ready_tasks(p_tenant_id, p_worker, v_slots, p_limit, p_lease, p_request_id, v_now) c);
      v_exhausted := cardinality(v_claimed) < p_limit;
    else
      select c.claimed, c.exhausted, c.limited into v_claimed, v_exhausted, v_limited
        from bpm_core.claim_fairly(p_tenant_id, p_worker, v_slots, p_limit, p_lease, p_request_id, v_now) c;
    end if;
    tasks := bpm_core.claimed_json(v_claimed);
    v_suspended := exists (select from unnest(v_claimed) c where c.suspended);
    positions := bpm_core.close_slots(v_scans, v_claimed, v_exhausted, v_limited, v_now, bpm_core.now());
    if not v_exhausted and v_slots[1].priority_level = v_slots[cardinality(v_slots)].priority_level and v_slots[1].quotas is null then
      positions := bpm_core.mark_quick(positions, v_slots, v_claimed[cardinality(v_claimed)], v_now);
    end if;
  end if;
  if v_claimed = '{}' then
    next_due_at := bpm_core.next_task_due(p_tenant_id, p_types, v_now);
  end if;
  if v_suspended then
    v_claimed := bpm_core.put_back_claimed(p_tenant_id, v_claimed);
    tasks := bpm_core.claimed_json(v_claimed);
  end if;
  if p_request_id is not null then
    perform bpm_core.remember_claim(p_tenant_id, p_worker, p_types, p_limit, p_lease, p_request_id, v_claimed);
  end if;
  return next;
end
$$;
