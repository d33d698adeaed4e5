-- KIND compensation throw: takes the records it compensates for itself and waits, as the host of one handler after the other. Nothing to compensate: moves on.
-- Returns:  moving[], the tokens in the handlers, leaving their events; throwers that move on. Writes: token, what claim_compensations and run_compensation write.
create or replace function bpm_core.enter_compensation_throws(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving bpm_core.moving[] := '{}'::bpm_core.moving[];
  v_token   bpm_core.moving;
begin
  perform bpm_core.host_tokens(p_arriving);
  foreach v_token in array p_arriving loop
    perform bpm_core.claim_compensations(v_token);
    v_leaving := v_leaving || bpm_core.run_compensation(v_token, null);
  end loop;
  return v_leaving;
end
$$;
