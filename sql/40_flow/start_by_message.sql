-- Under the lock of its key: starts a process by a message nobody waits for, if the current version of one has a start event for it that is not younger than the
-- message. The key becomes the business key, the payload, or what output mappings make of it,
-- the variables. Of several processes it is the one that has waited longest.
-- Raises:   BP422 a mapping cannot be evaluated.
-- p_at_once: go on in this transaction, else with the next tick. Returns: boolean, whether it did.
-- Writes:   message, and what insert_starts and the path ahead write.
create or replace function bpm_core.start_by_message(p_tenant_id text, p_message_id uuid, p_at_once boolean)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_start   bpm_core.start;
  v_outputs jsonb;
  v_leaving bpm_core.moving[];
begin
  select t.* into v_start
    from (select m.* from bpm_core.message m where m.tenant_id = p_tenant_id and m.id = p_message_id offset 0) m
   cross join lateral (
     select s.process_version_id, s.node_id
       from bpm_core.subscription s
      where s.state = 'Open' and s.name = m.name and s.correlation_key is null and s.created_at <= m.received_at
        and s.tenant_id is not distinct from p_tenant_id  -- no index condition: with = the planner may walk the tenant
        and s.kind = 'Message'  -- without a key: of a start event; asked for as such, a scan of the index of those would look cheap
      order by s.created_at, s.id
      limit 1) s
   cross join lateral bpm_core.triggered_start(
     m.tenant_id, s.process_version_id, s.node_id, m.payload, m.correlation_key, jsonb_build_object('message', m.id, 'name', m.name)) t;
  if v_start.process_version_id is null then
    return false;
  end if;
  v_outputs := (
    select n.expressions -> 'outputs'
      from bpm_core.workflow_node n
     where n.tenant_id = p_tenant_id and n.workflow_version_id = v_start.workflow_version_id and n.node_id = v_start.start_node_id);
  if v_outputs is not null then
    v_start.variables := bpm_core.start_patch(v_outputs, v_start.variables);
  end if;
  update bpm_core.message m set state = 'Correlated', started_id = v_start.workflow_instance_id where m.tenant_id = p_tenant_id and m.id = p_message_id;
  v_leaving := bpm_core.insert_starts(p_tenant_id, array[v_start], bpm_core.caller(), bpm_core.now());
  if p_at_once then
    perform bpm_core.advance_isolated(v_leaving);
  else
    perform bpm_core.park_tokens(bpm_core.follow_flows(v_leaving), 0);
  end if;
  return true;
end
$$;
