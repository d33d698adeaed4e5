-- Claims tasks in the given slots, slot by slot, oldest first within a slot; what has waited for long overtakes higher levels, and quotas bound it.
-- Reads first where the oldest task of each slot stands, at the price of the empty scans it saves.
-- Returns:  claimed: the tasks as leased, in order, with the number of their slot (see lease_parts).
--           stopped_in: the number of the slot in which the limit was reached, so that neither it nor those behind it are known to be empty; null: none.
--           limited: task types in which a quota has kept tasks back; null: none.
-- Writes:   task_instance; quota_slot, where there are quotas. Locks: these, skip locked. Never an instance row.
create or replace function bpm_core.claim_ready_tasks(
  p_tenant_id text, p_worker text, p_slots bpm_core.claim_slot[], p_limit integer, p_lease interval, p_request_id text, p_now timestamptz,
  out claimed bpm_core.claimed_task[], out stopped_in integer, out limited text[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_parts  bpm_core.claim_part[];
  v_quotas bpm_core.task_quota[];
begin
  -- A head that commits between this statement and the next lies behind the position; looking back finds it (law 12).
  select array_agg(row(s.slot, s.task_type, s.priority_level, h.available_at, '00000000-0000-0000-0000-000000000000', p_now)::bpm_core.claim_part order by s.slot),
         (select array_agg(q) from bpm_core.task_quota q where q.tenant_id = p_tenant_id)
    into v_parts, v_quotas
    from unnest(p_slots) with ordinality s(task_type, priority_level, from_at, from_id, slot)
   cross join lateral (
     select t.available_at
       from bpm_core.task_instance t
      where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type = s.task_type and t.priority_level = s.priority_level
        and t.available_at <= p_now and (t.available_at, t.id) > (s.from_at, s.from_id)
      order by t.available_at, t.id
      limit 1) h;
  claimed := '{}';
  if v_parts is null then
    return;
  end if;
  if (v_parts[1]).priority_level < (v_parts[cardinality(v_parts)]).priority_level then
    v_parts := bpm_core.age_parts(v_parts, p_now);
  end if;
  if v_quotas is not null then
    select c.claimed, c.limited into claimed, limited
      from bpm_core.claim_within_quotas(p_tenant_id, p_worker, v_parts, v_quotas, p_limit, p_lease, p_request_id, p_now) c;
    return;
  end if;
  claimed := bpm_core.lease_parts(p_tenant_id, p_worker, v_parts, p_limit, p_lease, p_request_id, p_now, null, null);
  if cardinality(claimed) = p_limit then
    stopped_in := greatest((claimed[p_limit]).slot, 1);
  end if;
end
$$;
