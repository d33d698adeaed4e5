-- Under the lock: opens the events that a migration adds to where tokens rest, as entering the node would.
-- Writes:   subscription, timer, history_event; as open_waits.
create or replace function bpm_core.open_new_events(p_tenant_id text, p_instance_id uuid, p_to uuid, p_items bpm_core.migration_item[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_messages bpm_core.moving[];
begin
  v_messages := bpm_core.open_events(array(
    select row(p_tenant_id, p_instance_id, p_to, t.scope_id, t.id, n.node_id, t.via_flow_id, n.kind)::bpm_core.moving
      from (select p_tenant_id as tenant_id, i.* from unnest(p_items) i where i.action = 'open' offset 0) i
     cross join lateral (select t.* from bpm_core.token t where t.tenant_id = i.tenant_id and t.id = i.token_id offset 0) t
     cross join lateral (select n.node_id, n.kind from bpm_core.workflow_node n
                          where n.tenant_id = i.tenant_id and n.workflow_version_id = p_to and n.node_id = i.to_node_id offset 0) n));
  if v_messages <> '{}' then
    perform bpm_core.open_waits(v_messages);
  end if;
end
$$;
