-- The slots of a claim (task type × priority level, high first) with where each scan begins.
-- Returns:  slot_scan[] in claim order.
-- Raises:   BP400 positions of another shape.
create or replace function bpm_core.open_slots(p_types text[], p_positions jsonb, p_now timestamptz)
returns bpm_core.slot_scan[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_scans bpm_core.slot_scan[];
  v_ours  boolean;
begin
  perform bpm_core.check_positions(p_positions, 'array');
  begin
    select array_agg(row(p.task_type, p.level, s.from_at, s.from_id, s.look_back, s.settled, s.whole, p.position)::bpm_core.slot_scan order by p.level, p.n),
           bool_and(p.keys and bpm_core.is_position(p.position))
      into v_scans, v_ours
      -- Fenced: pulled up, each position would be read once for every field of it that is asked for.
      from (select y.task_type, y.n, l.level, bpm_core.has_position_keys(p_positions -> y.task_type -> l.level) as keys,
                   jsonb_populate_record(null::bpm_core.pick_position, nullif(p_positions -> y.task_type -> l.level, 'null')) as position
              from unnest(p_types) with ordinality y(task_type, n)
             cross join generate_series(0, 2) l(level)
            offset 0) p
     cross join lateral bpm_core.pick_start(p.position, p_now) s;
  exception
    when data_exception then
      v_ours := false;  -- a value of ours that is no time, id or number: answered like anything else that is not ours
  end;
  if not v_ours then
    perform bpm_core.fail_position();
  end if;
  return v_scans;
end
$$;
