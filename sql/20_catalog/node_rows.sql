-- The rows of workflow_node for one compiled process.
create or replace function bpm_core.node_rows(p_tenant_id text, p_version_id uuid, p_process_pos integer, p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.workflow_node
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select p_tenant_id, p_version_id, n.node_id, n.kind, n.tag, n.name, n.scope_id, n.attached_to, n.interrupting,
         coalesce(i.flows, 0)::integer, coalesce(o.flows, 0)::integer, n.task_type, n.error_code, n.message_name, n.correlation_path,
         n.timer_kind, n.timer_rule, n.expressions || bpm_core.timer_expression(n.timer_rule, n.timer_path), bpm_core.stored_attributes(n.attributes, n.extensions, n.lane, n.documentation, n.timer_path)
         || case when n.timer_kind is null then '{}' else bpm_core.own_timer(n.attributes, n.definition) end
    from unnest(p_nodes) n
    left join (select f.target_id, count(*) as flows from unnest(p_flows) f where f.process_pos = p_process_pos group by f.target_id) i on i.target_id = n.node_id
    left join (select f.source_id, count(*) as flows from unnest(p_flows) f where f.process_pos = p_process_pos group by f.source_id) o on o.source_id = n.node_id
   where n.process_pos = p_process_pos
$$;
