-- The rows of workflow_task_binding for one compiled process: every task pinned to a task version, the node's own wishes resolved.
-- p_pins: nodes that are pinned to another version than the published one of their type.
create or replace function bpm_core.binding_rows(p_tenant_id text, p_version_id uuid, p_process_pos integer, p_nodes bpm_core.draft_node[], p_pins bpm_core.task_pin[])
returns setof bpm_core.workflow_task_binding
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select p_tenant_id, p_version_id, n.node_id, coalesce(p.task_version_id, t.task_version_id), n.task_type,
         coalesce(b.max_attempts, p.max_attempts, t.max_attempts), coalesce(b.lease, p.lease, t.lease),
         coalesce(b.priority_level, 1::smallint), b.assignee, b.candidate_groups,
         case when n.kind = 'SendTask' then coalesce(nullif(btrim(n.attributes ->> 'bpm:destination'), ''), n.task_type) end,
         b.expressions, b.headers, case when p.node_id is null then t.input_schema else p.input_schema end,
         case when p.node_id is null then t.checks_result else p.checks_result end,
         case when n.kind = 'ApprovalTask' then bpm_core.approval_policy(p_tenant_id, coalesce(p.task_version_id, t.task_version_id), n.task_type, n.attributes) end,
         case when n.kind <> 'SendTask' then (select nullif(v.review_required, false) from bpm_core.task_version v
                                               where v.tenant_id = p_tenant_id and v.id = coalesce(p.task_version_id, t.task_version_id)) end
    from unnest(p_nodes) n
    cross join lateral bpm_core.drawn_binding(n.attributes, n.extensions, n.lane) b
    left join unnest(p_pins) p on p.node_id = n.node_id
    left join bpm_core.pinned_tasks(p_tenant_id, array(select distinct bpm_core.pinned_type(m) from unnest(p_nodes) m where m.task_type is not null)) t
      on t.task_type = bpm_core.pinned_type(n)
   where n.process_pos = p_process_pos and n.kind in ('ServiceTask', 'ApprovalTask', 'UserTask', 'SendTask')
$$;
