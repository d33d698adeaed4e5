-- The positions to hand back after a claim from quick_slots. Only the slot in which it stopped moves: the next claim that looks for itself walks again what little
-- was taken from the others. One that did not fill its limit takes the mark away. Inlined into its caller.
-- Returns:  jsonb, as close_slots.
create or replace function bpm_core.quick_positions(p_positions jsonb, p_last bpm_core.claimed_task, p_is_full boolean)
returns jsonb
language sql stable
as $$
  select case when p_is_full then jsonb_set(p_positions, array['', 'heads', p_last.task_type], jsonb_build_array(p_last.available_at, p_last.task_id))
              else p_positions - '' end
$$;
