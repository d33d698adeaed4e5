-- Tasks of different levels in one claim: the order is by available_at + level x ageing step, so that what has waited for long overtakes what came later
-- in higher levels. Where the head of a lower level is that old, the stretch of it that is older than the heads of all higher levels comes first; what lies
-- behind waits for its level. So the order is exact from claim to claim, within one batch it is by stretches, and every walk stays one along the index.
-- p_slots: those that have tasks, from their heads.
-- Returns:  claim_slot[], in the order to claim.
create or replace function bpm_core.age_slots(p_slots bpm_core.claim_slot[], p_now timestamptz)
returns bpm_core.claim_slot[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_step interval;
begin
  if p_slots[1].priority_level = p_slots[cardinality(p_slots)].priority_level then
    return p_slots;
  end if;
  v_step := make_interval(secs => (bpm_core.setting_value('engine.priority_ageing_s', '300'))::integer);
  if v_step = interval '0' then
    return p_slots;
  end if;
  return array(
    select a.slot
      from unnest(p_slots) p
     cross join lateral (
       select min(h.from_at - (p.priority_level - h.priority_level) * v_step) - interval '1 microsecond' as until_at
         from unnest(p_slots) h
        where h.priority_level < p.priority_level) o
     cross join lateral (values
       (true, row(p.task_type, p.priority_level, p.from_at, p.from_id, -p.slot, o.until_at, null)::bpm_core.claim_slot),
       (false, row(p.task_type, p.priority_level, greatest(p.from_at, o.until_at),
                   case when p.from_at <= o.until_at then 'ffffffff-ffff-ffff-ffff-ffffffffffff' else p.from_id end, p.slot, p_now, null)::bpm_core.claim_slot)) a(overtakes, slot)
     where not a.overtakes or p.from_at <= o.until_at
     order by a.overtakes desc, case when a.overtakes then p.from_at + p.priority_level * v_step end, p.slot);
end
$$;
