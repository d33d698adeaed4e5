-- KIND signal throw event, intermediate or end: the signal is broadcast, without a payload, and the token moves on. Every token throws its own.
-- Returns:  moving[], the tokens that move on. Writes: signal, inbox, history_event.
create or replace function bpm_core.enter_signal_throws(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select a.tenant_id, a.instance_id, bpm_core.now(), 'SignalThrown', a.token_id, a.node_id,
         jsonb_build_object('signal', s.id, 'name', s.name, 'receivers', s.receivers)
    from unnest(p_arriving) a
   cross join lateral (select n.message_name from bpm_core.workflow_node n
                        where n.tenant_id = a.tenant_id and n.workflow_version_id = a.version_id and n.node_id = a.node_id offset 0) n
   cross join lateral bpm_core.send_signal(a.tenant_id, n.message_name, '{}') s;
  return array(
    select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, null, null)::bpm_core.moving
      from unnest(p_arriving) a);
end
$$;
