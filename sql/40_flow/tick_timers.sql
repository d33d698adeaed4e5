-- Fires due timers, oldest first, each once. Picks unlocked, locks the instances nobody holds, and of start timers the definitions, then the timers, then
-- looks again. Where somebody holds what is due first it picks further on, so that nobody keeps the timers of others waiting.
-- Returns:  tick_result: rows done, the next position, when the next falls due within ten seconds (further ahead lie the entries of all timers
--           that were cancelled before their time).
-- Writes:   timer, history_event, and what follows on the paths. Locks: workflow_instance skip locked, then timer.
create or replace function bpm_core.tick_timers(
  p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_result   bpm_core.tick_result;
  r_scan     record;
  r_fired    record;
  v_found    bpm_core.candidate[];
  v_versions uuid[];
  v_last     bpm_core.candidate;
  v_all      boolean := true;
  v_whole    boolean;
  v_from     bpm_core.candidate;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_from := row(r_scan.from_at, r_scan.from_id, null)::bpm_core.candidate;
  v_result.done := 0;
  for v_round in 1 .. 10 loop
    select coalesce(array_agg(row(t.due_at, t.id, coalesce(t.workflow_instance_id, t.process_version_id))::bpm_core.candidate order by t.due_at, t.id), '{}'),
           coalesce(array_agg(t.process_version_id) filter (where t.process_version_id is not null), '{}')
      into v_found, v_versions
      from (select t.due_at, t.id, t.workflow_instance_id, t.process_version_id
              from bpm_core.timer t
             where t.status = 'Scheduled' and t.tenant_id = p_tenant_id and t.due_at <= p_now and (t.due_at, t.id) > (v_from.at, v_from.id)
             order by t.due_at, t.id
             limit p_limit - v_result.done) t;
    exit when v_found = '{}';
    select f.done, f.last into r_fired from bpm_core.fire_found(p_tenant_id, v_found, v_versions) f;
    v_all := v_all and r_fired.done = cardinality(v_found);
    -- The position stays where something was left.
    v_last := case when v_round = 1 then r_fired.last else v_last end;
    v_from := v_found[cardinality(v_found)];
    v_whole := cardinality(v_found) < p_limit - v_result.done;
    v_result.done := v_result.done + r_fired.done;
    exit when v_all or v_whole or v_result.done >= p_limit;
  end loop;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     v_all and v_result.done < p_limit, p_now);
  v_result.next_due_at := (
    select t.due_at
      from bpm_core.timer t
     where t.status = 'Scheduled' and t.tenant_id = p_tenant_id and t.due_at > p_now and t.due_at <= p_now + interval '10 seconds'
     order by t.due_at
     limit 1);
  return v_result;
end
$$;
