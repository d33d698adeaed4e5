-- Marks positions for the claims that follow within half a second: most of a small claim is finding out where to begin. Stragglers, for which positions look
-- back, wait that much longer; a claim that finds nothing looks back at once. None while looking back is not over, or of many stragglers only one claim's
-- worth would be handed out in every half second.
-- p_level: the only priority level of the claim. p_last: its last task, of the slot it stopped in. Returns: the positions with the mark, under a key no task type has.
create or replace function bpm_core.mark_quick(p_positions jsonb, p_level smallint, p_last bpm_core.claimed_task, p_now timestamptz)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_positions -> p_last.task_type -> p_level::text ->> 'reached_id' <> p_last.task_id::text then
    return p_positions;  -- what was handed out last lies behind what was reached
  end if;
  return p_positions || jsonb_build_object('', jsonb_build_object('until', p_now + interval '500 milliseconds', 'level', p_level));
end
$$;
