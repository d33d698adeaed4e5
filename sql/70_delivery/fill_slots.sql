-- Notes in the slots, and in a breaker that is tried, what was claimed under their locks.
-- Writes:   destination_slot, destination_gate.
create or replace function bpm_core.fill_slots(
  p_tenant_id text, p_lane bpm_core.lane, p_commands bpm_core.claimed_command[], p_busy integer[], p_rated integer[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_count integer := cardinality(p_commands);
  v_until timestamptz[];
  v_ids   uuid[];
begin
  -- Slots by an array and not by a set: the whole key is looked up then, however few rows the planner believes in.
  if p_busy is not null then
    select array_agg(c.lease_until order by c.n), array_agg(c.command_id order by c.n)
      into v_until, v_ids
      from (select x.lease_until, x.command_id, row_number() over () as n from unnest(p_commands) x) c;
    update bpm_core.destination_slot s
       set free_at = v_until[array_position(p_busy, s.slot)], command_id = v_ids[array_position(p_busy, s.slot)]
     where s.tenant_id = p_tenant_id and s.destination_id = p_lane.destination_id and s.kind = 'Concurrency' and s.slot = any (p_busy[:v_count]);
  end if;
  if p_rated is not null then
    update bpm_core.destination_slot s
       set free_at = p_now + p_lane.rate_period
     where s.tenant_id = p_tenant_id and s.destination_id = p_lane.destination_id and s.kind = 'Rate' and s.slot = any (p_rated[:v_count]);
  end if;
  if p_lane.probing then
    -- Should nobody report of it, the next is tried when its lease is over.
    update bpm_core.destination_gate g
       set state = 'HalfOpen', probe_at = p_commands[1].lease_until, updated_at = p_now
     where g.tenant_id = p_tenant_id and g.destination_id = p_lane.destination_id;
  end if;
end
$$;
