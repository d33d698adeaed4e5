-- Under the instance locks: escalations that called processes have thrown and none of them caught. Who catches them goes on from there; further out they
-- are passed on. Writes: history_event, inbox, and what follow_catch and the paths ahead write.
create or replace function bpm_core.apply_call_escalations(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_catch bpm_core.catch;
  r_call  record;
begin
  for r_call in select h.* from bpm_core.waiting_hosts(p_tenant_id, p_rows) h order by h.inbox_id loop
    v_catch := bpm_core.find_catch(r_call.host, 'EscalationBoundary', r_call.payload ->> 'code');
    perform bpm_core.bump_instances(p_tenant_id, array[(r_call.host).instance_id]);
    if v_catch.node_id is null then
      perform bpm_core.escalate_to_caller(r_call.host, r_call.payload ->> 'code');
      continue;
    end if;
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    values (p_tenant_id, (v_catch.host).instance_id, bpm_core.now(), 'EscalationCaught', (v_catch.host).token_id, v_catch.node_id,
            jsonb_build_object('host', (v_catch.host).node_id, 'code', r_call.payload ->> 'code')
            || case when v_catch.interrupting and not v_catch.is_start then '{}'::jsonb else '{"interrupting": false}' end);
    perform bpm_core.advance_isolated(bpm_core.follow_catch(v_catch));
  end loop;
end
$$;
