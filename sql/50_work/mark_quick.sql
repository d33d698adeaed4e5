-- Marks positions for the claims that follow within half a second: most of a small claim is finding out where to begin. Stragglers, for which positions look
-- back, wait that much longer; a claim that finds nothing looks back at once. None while looking back is not over, or of many stragglers only one claim's
-- worth would be handed out in every half second.
-- p_slots: of one priority level, without quotas. p_last: the last task of the claim, of the slot it stopped in. Returns: the positions with the mark, under
-- a key no task type has.
create or replace function bpm_core.mark_quick(p_positions jsonb, p_slots bpm_core.claim_slot[], p_last bpm_core.claimed_task, p_now timestamptz)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if p_positions -> p_last.task_type -> p_slots[1].priority_level::text ->> 'reached_id' <> p_last.task_id::text then
    return p_positions;  -- what was handed out last lies behind what was reached
  end if;
  return (
    select p_positions || jsonb_build_object('', jsonb_build_object(
             'until', p_now + interval '500 milliseconds', 'level', p_slots[1].priority_level,
             'heads', jsonb_object_agg(s.task_type, jsonb_build_array(p.position -> 'reached_at', p.position -> 'reached_id'))))
      from unnest(p_slots) s
     cross join lateral (select p_positions -> s.task_type -> s.priority_level::text as position offset 0) p);
end
$$;
