-- Marks the flows that ordinary steps take in one statement (start_direct, take_direct_steps): from a start event or a service task, by its only flow, to a
-- service task or an end event, at the root, where nothing is decided, evaluated, armed or joined on the way. Whatever is not marked goes the general way,
-- with the same outcome.
-- Returns:  workflow_flow rows, is_direct set where it is so.
create or replace function bpm_core.direct_flows(
  p_nodes bpm_core.workflow_node[], p_flows bpm_core.workflow_flow[], p_tasks bpm_core.workflow_task_binding[])
returns setof bpm_core.workflow_flow
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with plain as (
    -- Nodes at the root without boundary events; tasks without expressions and schemas for what they are given.
    select n.node_id, n.kind
      from unnest(p_nodes) n
     where n.kind in ('StartEvent', 'ServiceTask', 'EndEvent') and n.scope_node_id is null
       and not exists (select from unnest(p_nodes) b where b.attached_to = n.node_id)
       and not exists (select from unnest(p_tasks) t where t.node_id = n.node_id and (t.expressions is not null or t.input_schema is not null))),
  graph as (
    -- Where variables can wake conditions, or an inclusive join looks at what is still under way, every move has to be looked at; and every end where
    -- a parallel join may wait for what ended.
    select coalesce(bool_or(n.kind in ('ConditionalCatch', 'ConditionalBoundary', 'InclusiveSplit', 'InclusiveJoin')), false) as is_watched,
           coalesce(bool_or(n.kind = 'ParallelJoin'), false) as joins
      from unnest(p_nodes) n)
  select f.tenant_id, f.workflow_version_id, f.source_id, f.ord, f.flow_id, f.target_id, f.target_kind, f.condition, f.condition_constants,
         f.condition_source, f.is_default, f.name, f.condition_tree,
         case when not g.is_watched and not (g.joins and f.target_kind = 'EndEvent') and f.condition is null and f.condition_tree is null
                and f.target_kind in ('ServiceTask', 'EndEvent')
                and exists (select from plain s where s.node_id = f.source_id and s.kind in ('StartEvent', 'ServiceTask'))
                and exists (select from plain t where t.node_id = f.target_id)
                and (select count(*) from unnest(p_flows) o where o.source_id = f.source_id) = 1 then true end
    from unnest(p_flows) f
   cross join graph g
$$;
