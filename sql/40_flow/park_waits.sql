-- Parks the tokens whose waits could not be opened because another call holds their message key; tick enters their node again a second later.
-- Returns:  subscription[], the waits that can be opened. Writes: as park_tokens.
create or replace function bpm_core.park_waits(p_resting bpm_core.moving[], p_waits bpm_core.subscription[], p_busy bigint[])
returns bpm_core.subscription[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_parked uuid[];
  v_open   bpm_core.subscription[];
begin
  select array_agg(w.token_id) filter (where k.hash = any (p_busy)), array_agg(w) filter (where k.hash <> all (p_busy))
    into v_parked, v_open
    from unnest(p_waits) w
   cross join lateral bpm_core.message_key_hash(w.tenant_id, w.name, w.correlation_key) k(hash);
  perform bpm_core.park_tokens(array(select r from unnest(p_resting) r where r.token_id = any (v_parked)), 0, interval '1 second');
  return coalesce(v_open, '{}');
end
$$;
