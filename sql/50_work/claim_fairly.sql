-- Claims where more than the order of the slots counts: levels whose tasks age, quotas. Reads first where the oldest task of each slot stands; empty ones are
-- left out.
-- Returns:  claimed: as claim_ready_tasks. exhausted: that there was no more to hand out in any slot but those of the task types in limited (null: none), where a
--           quota has kept tasks back.
-- Writes:   task_instance; quota_slot, where there are quotas. Locks: these, skip locked. Never an instance row.
create or replace function bpm_core.claim_fairly(
  p_tenant_id text, p_worker text, p_slots bpm_core.claim_slot[], p_limit integer, p_lease interval, p_request_id text, p_now timestamptz,
  out claimed bpm_core.claimed_task[], out exhausted boolean, out limited text[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_slots bpm_core.claim_slot[];
  r_claim record;
begin
  -- A head that commits between this statement and the next lies behind the position; looking back finds it (law 12).
  v_slots := array(
    select row(s.task_type, s.priority_level, h.available_at, '00000000-0000-0000-0000-000000000000', s.n, p_now, null)::bpm_core.claim_slot
      from unnest(p_slots) with ordinality s(task_type, priority_level, from_at, from_id, slot, until_at, quotas, n)
     cross join lateral (
       select t.available_at
         from bpm_core.task_instance t
        where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.task_type = s.task_type and t.priority_level = s.priority_level
          and t.available_at <= p_now and (t.available_at, t.id) > (s.from_at, s.from_id)
        order by t.available_at, t.id
        limit 1) h
     order by s.n);
  claimed := '{}';
  exhausted := true;
  if v_slots = '{}' then
    return;
  end if;
  v_slots := bpm_core.age_slots(v_slots, p_now);
  if p_slots[1].quotas is null then
    claimed := array(select c from bpm_core.claim_ready_tasks(p_tenant_id, p_worker, v_slots, p_limit, p_lease, p_request_id, p_now) c);
    exhausted := cardinality(claimed) < p_limit;
  else
    r_claim := bpm_core.claim_within_quotas(p_tenant_id, p_worker, v_slots, p_slots[1].quotas, p_limit, p_lease, p_request_id, p_now);
    claimed := r_claim.claimed;
    limited := r_claim.limited;
  end if;
end
$$;
