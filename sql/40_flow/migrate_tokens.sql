-- Under the lock: puts live tokens on the nodes of the new version, with the open scopes, what may still be undone, approvals and open incidents.
-- Writes:   token, scope, multi_instance, compensation_record, approval_record, incident, history_event.
create or replace function bpm_core.migrate_tokens(p_tenant_id text, p_instance_id uuid, p_to uuid, p_mapping jsonb, p_items bpm_core.migration_item[], p_actor text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with moved as (
    update bpm_core.token t
       set node_id = i.to_node_id, version = t.version + 1, updated_at = v_now,
           via_flow_id = (select f.flow_id from bpm_core.workflow_flow f
                           where f.flow_id = t.via_flow_id and f.workflow_version_id = p_to and f.tenant_id = t.tenant_id and f.target_id = i.to_node_id)
      from (select p_tenant_id as tenant_id, i.* from unnest(p_items) i where i.kind = 'token' offset 0) i
     where t.tenant_id = i.tenant_id and t.id = i.id
    returning t.id, t.state, i.node_id, i.to_node_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state, actor, detail)
  select p_tenant_id, p_instance_id, v_now, 'InstanceMigrated', m.id, m.to_node_id, m.state::text, p_actor, jsonb_build_object('node', m.node_id)
    from moved m
   where m.node_id <> m.to_node_id;
  update bpm_core.scope s
     set node_id = bpm_core.image_of(p_mapping, s.node_id)
   where s.workflow_instance_id = p_instance_id and s.tenant_id = p_tenant_id and s.state = 'Open' and bpm_core.image_of(p_mapping, s.node_id) <> s.node_id;
  update bpm_core.multi_instance m
     set node_id = bpm_core.image_of(p_mapping, m.node_id)
   where m.workflow_instance_id = p_instance_id and m.tenant_id = p_tenant_id and bpm_core.image_of(p_mapping, m.node_id) <> m.node_id;
  update bpm_core.compensation_record r
     set node_id = bpm_core.image_of(p_mapping, r.node_id), event_id = bpm_core.image_of(p_mapping, r.event_id),
         handler_ref = bpm_core.image_of(p_mapping, r.handler_ref)
    from (select i.* from unnest(p_items) i where i.kind = 'compensation' and i.action = 'rename' offset 0) i
   where r.workflow_instance_id = p_instance_id and r.id = i.id and r.tenant_id = p_tenant_id;
  update bpm_core.approval_record a
     set node_id = i.to_node_id
    from (select i.* from unnest(p_items) i where i.kind = 'token' and i.action = 'rename' offset 0) i
   where a.workflow_instance_id = p_instance_id and a.token_id = i.id and a.tenant_id = p_tenant_id and a.node_id = i.node_id;
  update bpm_core.incident n
     set node_id = i.to_node_id
    from (select i.* from unnest(p_items) i where i.kind = 'token' and i.action = 'rename' offset 0) i
   where n.workflow_instance_id = p_instance_id and n.token_id = i.id and n.tenant_id = p_tenant_id and n.state = 'Open';
end
$$;
