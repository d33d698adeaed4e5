-- The positions to hand back after a claim from quick_slots. Only the slot in which it stopped moves: the next claim that looks for itself walks again what little
-- was taken from the others. One that did not fill its limit takes the mark away.
-- Returns:  jsonb, as close_slots.
create or replace function bpm_core.quick_positions(p_positions jsonb, p_claimed bpm_core.claimed_task[], p_limit integer)
returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last constant bpm_core.claimed_task := p_claimed[cardinality(p_claimed)];
begin
  if (cardinality(p_claimed) = p_limit) is not true then
    return p_positions - '';
  end if;
  return jsonb_set(p_positions, array['', 'heads', v_last.task_type], jsonb_build_array(v_last.available_at, v_last.task_id));
end
$$;
