-- KIND escalation throw event, intermediate or end: the nearest scope outwards that catches it goes on from there, interrupted or beside; the thrower
-- moves on unless it was in what was interrupted. An escalation nobody catches is recorded.
-- Returns:  moving[], what moves on; drive leaves out who was ended. Writes: history_event, what follow_catch writes.
create or replace function bpm_core.enter_escalation_throws(p_arriving bpm_core.moving[])
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
  v_code    text;
  v_catch   bpm_core.catch;
begin
  foreach v_token in array p_arriving loop
    continue when cardinality(bpm_core.drop_dead(array[v_token])) = 0;
    v_code := (select n.error_code from bpm_core.workflow_node n
                where n.tenant_id = v_token.tenant_id and n.workflow_version_id = v_token.version_id and n.node_id = v_token.node_id);
    v_catch := bpm_core.find_catch(v_token, 'EscalationBoundary', v_code);
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    values (v_token.tenant_id, v_token.instance_id, bpm_core.now(), 'EscalationThrown', v_token.token_id, v_token.node_id,
            jsonb_build_object('code', v_code, 'caught', v_catch.node_id is not null or bpm_core.escalate_to_caller(v_token, v_code)));
    if v_catch.node_id is not null then
      insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
      values (v_token.tenant_id, v_token.instance_id, bpm_core.now(), 'EscalationCaught', (v_catch.host).token_id, v_catch.node_id,
              jsonb_build_object('host', (v_catch.host).node_id, 'code', v_code)
              || case when v_catch.interrupting and not v_catch.is_start then '{}'::jsonb else '{"interrupting": false}' end);
      v_leaving := v_leaving || bpm_core.follow_catch(v_catch);
    end if;
    v_leaving := v_leaving || row(v_token.tenant_id, v_token.instance_id, v_token.version_id, v_token.scope_id, v_token.token_id, v_token.node_id,
                                  null, null)::bpm_core.moving;
  end loop;
  return v_leaving;
end
$$;
