-- The task versions that publish_workflow was told to pin nodes to. p_tasks: {"node": "task code"} or {"node": {"task": "code", "version": 2}}.
-- Returns:  task_pin[].
-- Raises:   BP400 not of that form. BP422 no such node, it is no task, no such task version, it is archived, or of another type than the node's;
--           the detail lists them all.
create or replace function bpm_core.task_pins(p_tenant_id text, p_tasks jsonb, p_process_pos integer, p_nodes bpm_core.draft_node[])
returns bpm_core.task_pin[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pins   bpm_core.task_pin[];
  v_faults jsonb;
begin
  perform bpm_core.check_pins(p_tasks);
  with wish as materialized (
    select e.key as node_id, coalesce(e.value ->> 'task', e.value #>> '{}') as code, (e.value ->> 'version')::integer as version
      from jsonb_each(p_tasks) e),
  pin as materialized (
    select w.node_id, w.code, w.version, n.kind, n.task_type, v.id, v.max_attempts, v.lease, v.input_schema, nullif(v.result_schema is not null, false) as checks_result, v.task_type as pinned_type, v.executor_kind, v.approval_required, v.review_required,
           d.archived_at is not null as archived
      from wish w
      left join unnest(p_nodes) n on n.process_pos = p_process_pos and n.node_id = w.node_id
      left join bpm_core.task_definition d on d.tenant_id = p_tenant_id and d.code = w.code
      left join bpm_core.task_version v
        on v.tenant_id = p_tenant_id and v.definition_id = d.id and case when w.version is null then v.id = d.published_version_id else v.version = w.version end),
  judged as (
    select p.*, case
             when p.kind is null then 'there is no such node'
             when p.kind not in ('ServiceTask', 'ApprovalTask', 'SendTask', 'UserTask') then 'the node is no task'
             when p.id is null then format('there is no task %L%s', left(p.code, 200), ' version ' || p.version)
             when p.archived then format('the task %L is archived', p.code)
             when p.kind = 'UserTask' and p.executor_kind <> 'Human' then format('people do not execute the task %L (%s)', p.code, p.executor_kind)
             when p.kind <> 'UserTask' and p.pinned_type <> p.task_type then format('the task %L is of type %L, the node of type %L', p.code, p.pinned_type, p.task_type)
             when p.kind = 'SendTask' and p.checks_result then format('the task %L has a result schema, and a send task has no result', p.code)
             when p.kind = 'SendTask' and p.review_required then format('results of the task %L are reviewed, and a send task has no result', p.code)
             when p.approval_required and p.kind <> 'ApprovalTask' then format('the task %L needs approval, the node does not say so', p.code) end as fault
      from pin p)
  select array_agg(row(j.node_id, j.id, j.max_attempts, j.lease, j.input_schema, j.checks_result)::bpm_core.task_pin),
         jsonb_agg(jsonb_build_object('node_id', left(j.node_id, 200), 'message', j.fault) order by j.node_id) filter (where j.fault is not null)
    into v_pins, v_faults
    from judged j;
  if v_faults is not null then
    perform bpm_core.fail('BP422', format('p_tasks, node %L: %s.', v_faults #>> '{0,node_id}', v_faults #>> '{0,message}'), jsonb_build_object('faults', v_faults),
      'Publish tasks with bpm.publish_task; bpm:approval="required" on the node asks for approval.');
  end if;
  return coalesce(v_pins, '{}');
end
$$;
