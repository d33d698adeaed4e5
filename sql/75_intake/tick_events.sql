-- Dispatches events that are due, oldest first, by the rules. Those that wait for other rules are of tick_rules.
-- The version of the rules is read before the rules are: if they change in between, the event is looked at once more.
-- Returns:  tick_result: rows done, the next position, when the next falls due within ten seconds.
-- Writes:   as dispatch_events. Locks: event, skip locked; message keys, tried; what starting and correlating lock.
create or replace function bpm_core.tick_events(p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_version constant bigint := coalesce((select s.rules_version from bpm_core.routing_state s where s.tenant_id = p_tenant_id), 0);
  v_result  bpm_core.tick_result;
  r_scan    record;
  v_found   bpm_core.event[];
  v_last    bpm_core.event;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_found := array(
    select e
      from bpm_core.event e
     where e.dispatch_state = 'Pending' and e.tenant_id = p_tenant_id and e.available_at <= p_now and (e.available_at, e.id) > (r_scan.from_at, r_scan.from_id)
     order by e.available_at, e.id
     limit p_limit
       for no key update skip locked);
  v_result.done := cardinality(v_found);
  if v_result.done > 0 then
    perform bpm_core.dispatch_events(p_tenant_id, v_found, v_version, p_now);
  end if;
  v_last := v_found[cardinality(v_found)];
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.available_at, v_last.id,
                                     cardinality(v_found) < p_limit, p_now);
  v_result.next_due_at := (
    select e.available_at
      from bpm_core.event e
     where e.dispatch_state = 'Pending' and e.tenant_id = p_tenant_id and e.available_at > p_now and e.available_at <= p_now + interval '10 seconds'
     order by e.available_at
     limit 1);
  return v_result;
end
$$;
