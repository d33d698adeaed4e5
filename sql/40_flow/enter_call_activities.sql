-- KIND call activity: the token rests, and the called process begins as a workflow instance of its own within the same process instance, pinned to its
-- version. It sees what the inputs map, or all the caller sees, as it is now. Its end comes back through the inbox.
-- Returns:  moving[]: the message waits of boundary events, and the first tokens of the called instances.
-- Writes:   token, workflow_instance, history_event, incident; subscription, timer.
create or replace function bpm_core.enter_call_activities(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_waits    bpm_core.moving[];
  v_calls    bpm_core.call[];
  v_troubles bpm_core.trouble[];
begin
  perform bpm_core.host_tokens(p_arriving);
  v_waits := bpm_core.arm_boundaries(p_arriving);
  v_calls := bpm_core.prepare_calls(p_arriving);
  v_troubles := array(select c.trouble from unnest(v_calls) c where (c.trouble).code is not null);
  if cardinality(v_troubles) > 0 then
    perform bpm_core.close_waits(array(select x.token from unnest(v_troubles) x));
    perform bpm_core.open_incidents(v_troubles);
    v_waits := array(select w from unnest(v_waits) w where w.token_id <> all (array(select (x.token).token_id from unnest(v_troubles) x)));
  end if;
  return v_waits || bpm_core.insert_calls(array(select c from unnest(v_calls) c where (c.trouble).code is null));
end
$$;
