-- Dispatches events that wait for a decision and were last looked at with older rules, with those of now.
-- The version of the rules is read before the rules are: if they change in between, the event is looked at once more. The position goes by versions
-- (position_of): before its safe end no event waits any more.
-- Returns:  tick_result: rows done, the next position.
-- Writes:   as dispatch_events. Locks: event, skip locked; message keys, tried; what starting and correlating lock.
create or replace function bpm_core.tick_rules(p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
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
  v_next    bpm_core.pick_position := p_position;
  v_result  bpm_core.tick_result;
  r_scan    record;
  v_safe    bigint;
  v_found   bpm_core.event[];
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_safe := case when r_scan.whole then 0 else bpm_core.number_at(p_position.safe_at) end;
  v_found := array(
    select e
      from bpm_core.event e
     where e.rules_version is not null and e.tenant_id = p_tenant_id and e.rules_version >= v_safe and e.rules_version < v_version
     order by e.rules_version, e.id
     limit p_limit
       for no key update skip locked);
  v_result.done := cardinality(v_found);
  if v_result.done > 0 then
    perform bpm_core.dispatch_events(p_tenant_id, v_found, v_version, p_now);
  end if;
  if v_result.done < p_limit then
    if r_scan.settled then
      v_next.safe_at := p_position.mark_at;
      v_next.mark_at := bpm_core.position_of(v_version);
      v_next.horizon := bpm_core.next_transaction();
    end if;
    if r_scan.whole then
      v_next.full_at := p_now;
    end if;
  end if;
  v_result.next_position := v_next;
  return v_result;
end
$$;
