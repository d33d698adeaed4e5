-- Parks the tokens of which another call holds a message key they would wait for; tick enters their node again a second later. What they offered already
-- (the task of a host, the timers beside the wait) is closed: it is offered again then.
-- Returns:  subscription[], the waits that can be opened: those of the other tokens. Writes: as park_tokens and close_waits.
create or replace function bpm_core.park_waits(p_waits bpm_core.subscription[], p_busy bigint[])
returns bpm_core.subscription[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_stopped uuid[];
  v_parked  bpm_core.moving[];
begin
  v_stopped := array(
    select distinct w.token_id
      from unnest(p_waits) w
     where bpm_core.message_key_hash(w.tenant_id, w.name, w.correlation_key) = any (p_busy));
  v_parked := array(
    select row(t.tenant_id, t.workflow_instance_id, null, t.scope_id, t.id, t.node_id, t.via_flow_id, null)::bpm_core.moving
      from (select (p_waits[1]).tenant_id as tenant_id, k.id from unnest(v_stopped) k(id) offset 0) k
     cross join lateral (select t.* from bpm_core.token t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t);
  perform bpm_core.close_waits(v_parked);
  perform bpm_core.park_tokens(v_parked, 0, interval '1 second');
  return array(select w from unnest(p_waits) w where w.token_id <> all (v_stopped));
end
$$;
