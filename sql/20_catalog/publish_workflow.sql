-- Stores one compiled process as the next version of its workflow and its process, unless a published version is identical.
-- Identical means: same file but for space at its end (psql's `cat` drops it), same graph, pinned task versions included. An identical older version becomes the current one again.
-- The caller holds the lock of the process_definition row.
-- Returns:  version, whether it is new, and whether the current version changed.
-- Writes:   workflow_definition, workflow_version, workflow_node, workflow_flow, workflow_task_binding, inclusive_flow, inclusive_reach,
--           process_version, process_workflow_binding, process_definition, and what publish_starts writes.
create or replace function bpm_core.publish_workflow(
  p_tenant_id text, p_definition_id uuid, p_process bpm_core.draft_process, p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[],
  p_xml text, p_role_version_id uuid, p_actor text, out version integer, out is_new boolean, out moved boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set jit = off
as $$
declare
  v_id       uuid := bpm_core.new_id();
  v_workflow uuid := bpm_core.new_id();
  v_nodes    bpm_core.workflow_node[] := array(select r from bpm_core.node_rows(p_tenant_id, v_workflow, p_process.pos, p_nodes, p_flows) r);
  v_flows    bpm_core.workflow_flow[] := array(select r from bpm_core.flow_rows(p_tenant_id, v_workflow, p_process.pos, p_nodes, p_flows) r);
  v_tasks    bpm_core.workflow_task_binding[] := array(select r from bpm_core.binding_rows(p_tenant_id, v_workflow, p_process.pos, p_nodes) r);
  v_graph    jsonb := bpm_core.graph_of(v_nodes, v_flows, v_tasks);
  v_hash     bytea := sha256(convert_to(rtrim(p_xml, E' \t\r\n'), 'UTF8') || convert_to(v_graph::text, 'UTF8') || convert_to(coalesce(p_process.name, ''), 'UTF8') || uuid_send(p_role_version_id));
  v_now      timestamptz := bpm_core.now();
  v_known    uuid;
  v_owner    uuid;
  v_before   uuid;
begin
  select p.version, p.id into version, v_known
    from bpm_core.process_version p
   where p.tenant_id = p_tenant_id and p.definition_id = p_definition_id and p.content_hash = v_hash and p.status = 'Published'
   order by p.version desc
   limit 1;
  is_new := v_known is null;
  if is_new then
    select coalesce(max(p.version), 0) + 1 into version
      from bpm_core.process_version p where p.tenant_id = p_tenant_id and p.definition_id = p_definition_id;
    v_owner := bpm_core.ensure_workflow(p_tenant_id, p_process.process_id);
    insert into bpm_core.workflow_version (tenant_id, id, definition_id, version, status, content_hash, owner_role_version_id, name, graph, has_conditions, bpmn_xml, checksum, created_by, published_at)
    values (p_tenant_id, v_workflow, v_owner, version, 'Published', v_hash, p_role_version_id, p_process.name, v_graph,
            exists (select from unnest(v_nodes) n where n.kind in ('ConditionalCatch', 'ConditionalBoundary')), p_xml, sha256(convert_to(p_xml, 'UTF8')), p_actor, v_now);
    insert into bpm_core.workflow_node select r.* from unnest(v_nodes) r;
    insert into bpm_core.workflow_flow select r.* from unnest(v_flows) r;
    insert into bpm_core.workflow_task_binding select r.* from unnest(v_tasks) r;
    perform bpm_core.store_inclusive_joins(v_nodes, v_flows);
    insert into bpm_core.process_version (tenant_id, id, definition_id, version, status, content_hash, name, created_by, published_at)
    values (p_tenant_id, v_id, p_definition_id, version, 'Published', v_hash, p_process.name, p_actor, v_now);
    insert into bpm_core.process_workflow_binding (tenant_id, process_version_id, binding_key, workflow_version_id, position)
    values (p_tenant_id, v_id, 'main', v_workflow, 1);
    v_known := v_id;
  end if;
  select d.published_version_id into v_before from bpm_core.process_definition d where d.tenant_id = p_tenant_id and d.id = p_definition_id;
  update bpm_core.process_definition d
     set published_version_id = v_known, archived_at = null
   where d.tenant_id = p_tenant_id and d.id = p_definition_id and (d.published_version_id is distinct from v_known or d.archived_at is not null);
  moved := found;
  update bpm_core.workflow_definition d
     set published_version_id = b.workflow_version_id, archived_at = null
    from bpm_core.process_workflow_binding b
   where moved and b.tenant_id = p_tenant_id and b.process_version_id = v_known and b.binding_key = 'main'
     and d.tenant_id = p_tenant_id and d.code = p_process.process_id;
  if moved then
    perform bpm_core.publish_starts(p_tenant_id, p_definition_id, v_before, v_known);
  end if;
end
$$;
