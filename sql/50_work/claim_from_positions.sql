-- The claim that looks for itself where to begin (open_slots), and fairly where there are levels or quotas.
-- Returns:  one row: claimed, positions to hand back (close_slots), marked (mark_quick) where what follows closely need not ask again.
-- Raises:   BP400 positions that are not ours.
-- Writes, locks: as claim_ready_tasks, claim_fairly.
create or replace function bpm_core.claim_from_positions(
  p_tenant_id text, p_worker text, p_types text[], p_limit integer, p_lease interval, p_request_id text, p_positions jsonb, p_now timestamptz)
returns table (claimed bpm_core.claimed_task[], positions jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_scans     bpm_core.slot_scan[];
  v_slots     bpm_core.claim_slot[];
  v_exhausted boolean;
  v_limited   text[];
  v_claimed   bpm_core.claimed_task[];
begin
  v_scans := bpm_core.open_slots(p_tenant_id, p_types, p_positions, p_now);
  v_slots := array(
    select row(s.task_type, s.priority_level, s.from_at, s.from_id, null, null,
               (select array_agg(q) from bpm_core.task_quota q where q.tenant_id = p_tenant_id))::bpm_core.claim_slot
      from unnest(v_scans) s);
  if (v_slots[1].quotas is null and v_slots[1].priority_level = v_slots[cardinality(v_slots)].priority_level) is not false then
    v_claimed := array(select c from bpm_core.claim_ready_tasks(p_tenant_id, p_worker, v_slots, p_limit, p_lease, p_request_id, p_now) c);
    v_exhausted := cardinality(v_claimed) < p_limit;
  else
    select c.claimed, c.exhausted, c.limited into v_claimed, v_exhausted, v_limited
      from bpm_core.claim_fairly(p_tenant_id, p_worker, v_slots, p_limit, p_lease, p_request_id, p_now) c;
  end if;
  positions := bpm_core.close_slots(v_scans, v_claimed, v_exhausted, v_limited, p_now, bpm_core.now());
  if not v_exhausted and v_slots[1].priority_level = v_slots[cardinality(v_slots)].priority_level and v_slots[1].quotas is null then
    positions := bpm_core.mark_quick(positions, v_slots[1].priority_level, v_claimed[cardinality(v_claimed)], p_now);
  end if;
  claimed := v_claimed;
  return next;
end
$$;
