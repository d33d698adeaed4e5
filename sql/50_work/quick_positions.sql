-- The positions to hand back after a claim from quick_slots: as after any claim that did not look back (position_after), the slot in which it stopped moves to what was handed
-- out last, so that nothing that died is walked again by those who come when the mark has run out. One that did not fill its limit takes the mark away. Inlined into its caller.
-- p_last: the last task, p_level: the priority level of the mark. Returns: jsonb, as close_slots.
create or replace function bpm_core.quick_positions(p_positions jsonb, p_level text, p_last bpm_core.claimed_task, p_is_full boolean)
returns jsonb
language sql stable
as $$
  select case when p_is_full
              then jsonb_set(p_positions, array[p_last.task_type, p_level],
                             (p_positions -> p_last.task_type -> p_level) || jsonb_build_object('reached_at', p_last.available_at, 'reached_id', p_last.task_id))
              else p_positions - '' end
$$;
