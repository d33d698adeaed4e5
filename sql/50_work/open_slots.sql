-- The slots of a claim (task type × priority level, high first) with where each scan begins.
-- Returns:  slot_scan[] in claim order.
-- Raises:   BP400 positions of another shape.
create or replace function bpm_core.open_slots(p_types text[], p_positions jsonb, p_now timestamptz)
returns bpm_core.slot_scan[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.check_positions(p_positions, 'array');
  return array(
    select row(y.task_type, l.level, s.from_at, s.from_id, s.look_back, s.settled, s.whole, k.position)::bpm_core.slot_scan
      from generate_series(0, 2) l(level)
     cross join unnest(p_types) with ordinality y(task_type, n)
     -- Fenced: pulled up, each position would be read twice.
     cross join lateral (select bpm_core.read_position(p_positions -> y.task_type -> l.level) offset 0) k(position)
     cross join lateral bpm_core.pick_start(k.position, p_now) s
     order by l.level, y.n);
end
$$;
