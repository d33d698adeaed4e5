-- What is wrong or odd about tasks: types, retries and leases, approval, destinations. Our own attributes are taken at their word: an
-- impossible value is a fault. Other engines' attributes that cannot be used are warnings.
create or replace function bpm_core.find_task_faults(p_nodes bpm_core.draft_node[], p_tenant_id text)
returns setof bpm_core.finding
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with node as materialized (select n.*, bpm_core.element_label(n.tag, n.node_id, n.name) as label, bpm_core.pinned_type(n) as pinned_type from unnest(p_nodes) n),
  pinned as materialized (
    select t.* from bpm_core.pinned_tasks(p_tenant_id, array(select distinct n.pinned_type from node n where n.pinned_type is not null)) t)
  select bpm_core.fault('UnsupportedElement', format('%s: %s.', n.label, p.problem), n.node_id, null, null)
    from node n
   cross join lateral (
     select format('the task type %s is reserved', n.task_type) as problem where n.task_type like 'bpm:%' and n.kind in ('ServiceTask', 'ApprovalTask', 'SendTask')
     union all select 'its task type is an expression' where n.task_type ~ '^=|[$#]\{'
     union all select format('tasks of type %s need approval, which only a service task can have', n.task_type)
      where n.kind = 'SendTask' and n.task_type = any (bpm_core.approval_types(p_tenant_id))
     union all select format('tasks of type %s have a result schema, and a send task has no result', n.task_type)
      where n.kind = 'SendTask' and exists (select from pinned t where t.task_type = n.task_type and t.checks_result)
     union all select 'bpm:type and bpm:destination are for its message, but it throws none'
      where n.tag in ('intermediateThrowEvent', 'endEvent') and n.event <> 'message' and n.attributes ?| array['bpm:type', 'bpm:destination']
     union all select 'bpm:approval can only be "required"' where n.attributes ->> 'bpm:approval' <> 'required'
     union all select format('results of tasks of type %s are reviewed, and a send task has no result', n.task_type)
      where n.kind = 'SendTask' and exists (select from pinned t join bpm_core.task_version v on v.tenant_id = p_tenant_id and v.id = t.task_version_id
                                             where t.task_type = n.task_type and v.review_required)
     union all select bpm_core.approval_problem(a.policy)
       from (select bpm_core.approval_policy(
                p_tenant_id, (select t.task_version_id from pinned t where t.task_type = n.task_type), n.task_type, n.attributes) as policy
              where n.kind = 'ApprovalTask' or n.attributes ?| bpm_core.approval_attributes()) a
      where bpm_core.approval_problem(a.policy) is not null
     union all select 'it says how it is approved, but needs no approval' where n.kind <> 'ApprovalTask' and n.attributes ?| bpm_core.approval_attributes()
     union all select 'bpm:await is not executed yet; a send task goes on as soon as its command is written' where n.attributes ? 'bpm:await') p
  union all
  select bpm_core.fault('UnknownReference', format('%s is a task %s, which is not published for people.', n.label, n.attributes ->> 'bpm:type'), n.node_id, null,
           'Publish it with bpm.publish_task and p_executor_kind => ''Human''.')
    from node n
   where n.kind = 'UserTask' and btrim(n.attributes ->> 'bpm:type') <> ''
     and not exists (select from pinned t where t.task_type = n.pinned_type and t.executor_kind = 'Human')
  union all
  select bpm_core.fault('ArchivedTask', format('Tasks of type %s are archived.', min(n.task_type)), min(n.node_id), null, 'Publish the task again with bpm.publish_task, or use another.')
    from node n
    join bpm_core.task_definition d on d.tenant_id = p_tenant_id and d.code = n.task_type and d.archived_at is not null
   where n.kind in ('ServiceTask', 'ApprovalTask', 'SendTask')
     and not exists (select from pinned t where t.task_type = n.task_type)
   group by n.task_type
  union all
  select bpm_core.fault('InvalidCondition', format('%s: %s.', n.label, p.problem), n.node_id)
    from node n
   cross join lateral (
     select unnest(m.problems) as problem from bpm_core.drawn_mappings(n.extensions, 'in') m
     union all select unnest(m.problems) from bpm_core.drawn_mappings(n.extensions, 'out') m) p
   where n.extensions ? 'mappings' and bpm_core.mapped_directions(n.tag, case when n.attributes ->> 'triggeredByEvent' = 'true' then 'begun' else n.event end) <> '{}'
  union all
  select case when n.attributes ?| array['bpm:retries', 'bpm:lease', 'bpm:priority', 'bpm:dueDate', 'bpm:followUpDate']
            then bpm_core.fault('UnsupportedElement', format('%s: %s.', n.label, b.problem), n.node_id)
            else bpm_core.warning('AttributeIgnored', format('%s: %s; the task version''s value holds.', n.label, b.problem), n.node_id) end
    from node n cross join lateral bpm_core.drawn_binding(n.attributes, n.extensions, n.lane) b
   where n.kind in ('ServiceTask', 'ApprovalTask', 'SendTask', 'UserTask') and b.problem is not null
     and (n.extensions <> '{}' or n.attributes - '{id,name,default}'::text[] <> '{}')  -- most nodes say nothing, so they are not even asked
  union all
  select bpm_core.warning('DelegateAsTaskType', format('%s names code of another engine (%s); its task type is %s.', n.label, left(t.borrowed, 100), left(t.task_type, 100)), n.node_id, null,
           'Register a worker for that type, or set bpm:type.')
    from node n cross join lateral bpm_core.drawn_task_type(n.node_id, coalesce(n.definition, '{}') || n.attributes, n.extensions) t
   where n.kind in ('ServiceTask', 'ApprovalTask', 'SendTask') and t.borrowed is not null
  union all
  select bpm_core.warning('UnknownDestination', format('%s sends to the destination %s, which is not registered.', n.label, d.code), n.node_id, null, 'Register it with bpm.register_destination before it is reached.')
    from node n cross join lateral (select coalesce(nullif(btrim(n.attributes ->> 'bpm:destination'), ''), n.task_type) as code) d
   where n.kind = 'SendTask' and not exists (select from bpm_core.destination x where x.tenant_id = p_tenant_id and x.code = d.code)
$$;
