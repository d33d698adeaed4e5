-- Stores one compiled process as the next version of a workflow, unless an older one is identical, which then becomes the current one again.
-- Identical means: same file but for space at its end (psql's `cat` drops it), same graph, name and owner, pinned task versions included.
-- The caller holds the lock of the workflow_definition row.
-- Returns:  version, its id, whether it is new, and whether it became the current one now.
-- Raises:   BP422 a task pinned by p_pins does not fit its node; BP503 the workflow was deleted meanwhile.
-- Writes:   workflow_version, workflow_node, workflow_flow, workflow_task_binding, task_level, inclusive_flow, inclusive_reach, workflow_definition.
create or replace function bpm_core.store_workflow_version(
  p_tenant_id text, p_code text, p_process bpm_core.draft_process, p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[],
  p_xml text, p_role_version_id uuid, p_pins bpm_core.task_pin[], p_actor text, out version integer, out version_id uuid, out is_new boolean, out moved boolean)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_nestloop = off
set jit = off
as $$
declare
  v_id         uuid := bpm_core.new_id();
  v_nodes      bpm_core.workflow_node[] := array(select r from bpm_core.node_rows(p_tenant_id, v_id, p_process.pos, p_nodes, p_flows) r);
  v_tasks      bpm_core.workflow_task_binding[] := array(select r from bpm_core.binding_rows(p_tenant_id, v_id, p_process.pos, p_nodes, p_pins) r);
  v_flows      bpm_core.workflow_flow[] := array(
    select r from bpm_core.direct_flows(v_nodes, array(select f from bpm_core.flow_rows(p_tenant_id, v_id, p_process.pos, p_nodes, p_flows) f), v_tasks) r);
  v_graph      jsonb := bpm_core.graph_of(v_nodes, v_flows, v_tasks);
  v_hash       bytea := sha256(convert_to(rtrim(p_xml, E' \t\r\n'), 'UTF8') || convert_to(v_graph::text, 'UTF8') || convert_to(coalesce(p_process.name, ''), 'UTF8') || uuid_send(p_role_version_id));
  v_definition uuid := bpm_core.kept_definition(
    (select d.id from bpm_core.workflow_definition d where d.tenant_id = p_tenant_id and d.code = p_code), 'workflow', p_code);
begin
  select v.version, v.id into version, version_id
    from bpm_core.workflow_version v
   where v.tenant_id = p_tenant_id and v.definition_id = v_definition and v.content_hash = v_hash
   order by v.version desc
   limit 1;
  is_new := version is null;
  if is_new then
    version_id := v_id;
    select coalesce(max(v.version), 0) + 1 into version
      from bpm_core.workflow_version v where v.tenant_id = p_tenant_id and v.definition_id = v_definition;
    insert into bpm_core.workflow_version (
      tenant_id, id, definition_id, version, status, content_hash, owner_role_version_id, name, graph, has_conditions, start_node_id, bpmn_xml, checksum,
      created_by, published_at)
    values (
      p_tenant_id, v_id, v_definition, version, 'Published', v_hash, p_role_version_id, p_process.name, v_graph,
      exists (select from unnest(v_nodes) n where n.kind in ('ConditionalCatch', 'ConditionalBoundary')),
      (select min(n.node_id) from unnest(v_nodes) n where n.kind = 'StartEvent' and n.scope_node_id is null), p_xml, sha256(convert_to(p_xml, 'UTF8')), p_actor, bpm_core.now());
    insert into bpm_core.workflow_node select r.* from unnest(v_nodes) r;
    insert into bpm_core.workflow_flow select r.* from unnest(v_flows) r;
    insert into bpm_core.workflow_task_binding select r.* from unnest(v_tasks) r;
    insert into bpm_core.task_level (tenant_id, task_type, priority_level)
    select distinct p_tenant_id, t.task_type, l.level
      from unnest(v_tasks) t
     cross join generate_series(0, 2) l(level)
     where l.level = t.priority_level or t.expressions ? 'priority'
     order by 2, 3
    on conflict do nothing;
    perform bpm_core.store_inclusive_joins(v_nodes, v_flows);
  end if;
  update bpm_core.workflow_definition d
     set published_version_id = version_id, archived_at = null
   where d.tenant_id = p_tenant_id and d.id = v_definition and (d.published_version_id is distinct from version_id or d.archived_at is not null);
  moved := found;
end
$$;
