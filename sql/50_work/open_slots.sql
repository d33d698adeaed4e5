-- The slots of a claim (task type × priority level, high first) with where each scan begins. Only levels that a type has (task_level).
-- Returns:  slot_scan[] in claim order.
-- Raises:   BP400 positions of another shape.
create or replace function bpm_core.open_slots(p_tenant_id text, p_types text[], p_positions jsonb, p_now timestamptz)
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
  perform bpm_core.check_positions(p_positions, 'object');
  begin
    select array_agg(row(p.task_type, p.level, s.from_at, s.from_id, s.look_back, s.settled, s.whole, p.position)::bpm_core.slot_scan order by p.level, p.n),
           bool_and(p.keys and bpm_core.is_position(p.position))
      into v_scans, v_ours
      -- Fenced: pulled up, each position would be read once for every field of it that is asked for.
      from (select y.task_type, y.n, l.priority_level as level, bpm_core.has_position_keys(k.position) and coalesce((p_positions -> y.task_type) - '{0,1,2}'::text[] = '{}', true) as keys,
                   jsonb_populate_record(null::bpm_core.pick_position, nullif(k.position, 'null')) as position
              from (select p_tenant_id as tenant_id, y.* from unnest(p_types) with ordinality y(task_type, n) offset 0) y
             cross join lateral (select l.priority_level from bpm_core.task_level l where l.tenant_id = y.tenant_id and l.task_type = y.task_type offset 0) l
             cross join lateral (select p_positions -> y.task_type -> l.priority_level::text as position offset 0) k
            offset 0) p
     cross join lateral bpm_core.pick_start(p.position, p_now) s;
  exception
    when data_exception then
      v_ours := false;  -- a value of ours that is no time, id or number: answered like anything else that is not ours
  end;
  if not coalesce(v_ours, true) then
    perform bpm_core.fail_position();
  end if;
  return coalesce(v_scans, '{}'::bpm_core.slot_scan[]);
end
$$;
