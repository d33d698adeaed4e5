-- Follows an error to where it was caught; where that is a saga, what went wrong is kept in its scope, to go on outwards when all is undone.
-- Returns:  moving[], leaving. Writes: history_event, scope, what follow_catch and fail_compensations write.
create or replace function bpm_core.take_error(p_thrown bpm_core.thrown, p_catch bpm_core.catch)
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving bpm_core.moving[];
begin
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  values ((p_catch.host).tenant_id, (p_catch.host).instance_id, bpm_core.now(), 'ErrorCaught', (p_catch.host).token_id, p_catch.node_id,
          jsonb_build_object('host', (p_catch.host).node_id, 'code', p_thrown.code, 'message', p_thrown.message)
          || case when p_catch.is_start then '{"interrupting": false}'::jsonb else '{}' end);
  perform bpm_core.fail_compensations(p_thrown.token, p_catch.host);
  v_leaving := bpm_core.follow_catch(p_catch);
  if p_catch.node_id like '%:saga-start' then
    update bpm_core.scope s
       set error = jsonb_build_object('code', p_thrown.code, 'message', p_thrown.message)
      from (select l.tenant_id, l.scope_id from unnest(v_leaving) l) l
     where s.tenant_id = l.tenant_id and s.id = l.scope_id;
  end if;
  return v_leaving;
end
$$;
