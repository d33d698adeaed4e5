-- What call activities call and what they hand over: the called element and its binding, the mappings in and out, as Camunda, Flowable and Zeebe write them.
-- Without mappings in, all is handed over; without mappings out, what the called steps wrote comes back.
-- Returns:  one row per call activity: node_pos, spec {code, binding, version, inputs, all_in, outputs, all_out} for the node's expressions, and problem.
create or replace function bpm_core.drawn_calls(p_elements bpm_core.bpmn_element[])
returns table (node_pos integer, spec jsonb, problem text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with activity as materialized (
    select e.pos, e.attributes from unnest(p_elements) e where e.space = 'bpmn' and e.tag = 'callActivity'),
  extension as materialized (
    select a.pos as node_pos, x.pos, x.space, x.tag, x.attributes
      from activity a
      join unnest(p_elements) h on h.parent = a.pos and h.space = 'bpmn' and h.tag = 'extensionElements'
      join unnest(p_elements) x on x.parent = h.pos),
  mapping as materialized (
    select m.node_pos, m.pos, m.direction, m.target, m.source, c.tree, c.problem
      from (
        select x.node_pos, x.pos, x.tag as direction, btrim(x.attributes ->> 'target') as target,
               coalesce('${' || btrim(x.attributes ->> 'source') || '}', x.attributes ->> 'sourceExpression') as source
          from extension x
         where x.space in ('camunda', 'flowable') and x.tag in ('in', 'out') and x.attributes ->> 'target' <> ''
        union all
        select x.node_pos, y.pos, case y.tag when 'input' then 'in' else 'out' end, btrim(y.attributes ->> 'target'), btrim(y.attributes ->> 'source')
          from extension x
          join unnest(p_elements) y on y.parent = x.pos
         where x.space = 'zeebe' and x.tag = 'ioMapping' and y.tag in ('input', 'output')) m
     cross join lateral bpm_core.compile_expression(m.source) c),
  mapped as (
    select m.node_pos,
           jsonb_agg(jsonb_build_object('target', m.target, 'source', m.source, 'tree', m.tree) order by m.pos) filter (where m.direction = 'in') as inputs,
           jsonb_agg(jsonb_build_object('target', m.target, 'source', m.source, 'tree', m.tree) order by m.pos) filter (where m.direction = 'out') as outputs,
           min('its mapping to ' || m.target || ' cannot be read: ' || m.problem) as problem
      from mapping m
     group by m.node_pos),
  said as (
    select x.node_pos,
           bool_or(x.tag = 'in' and x.attributes ->> 'variables' = 'all') as all_in, bool_or(x.tag = 'out' and x.attributes ->> 'variables' = 'all') as all_out,
           bool_or(x.tag = 'calledElement') as zeebe,
           min(nullif(btrim(x.attributes ->> 'processId'), '')) filter (where x.tag = 'calledElement') as process_id,
           min(x.attributes ->> 'bindingType') filter (where x.tag = 'calledElement') as binding,
           coalesce(bool_and(x.attributes ->> 'propagateAllParentVariables' = 'false') filter (where x.tag = 'calledElement'), false) as none_in,
           coalesce(bool_and(x.attributes ->> 'propagateAllChildVariables' = 'false') filter (where x.tag = 'calledElement'), false) as none_out
      from extension x
     group by x.node_pos),
  call as (
    select a.pos, coalesce(s.process_id, nullif(btrim(a.attributes ->> 'calledElement'), '')) as code, m.inputs, m.outputs, m.problem,
           lower(coalesce(a.attributes ->> 'camunda:calledElementBinding', s.binding,
                          case when a.attributes ->> 'flowable:sameDeployment' = 'true' then 'deployment' end, 'latest')) as binding,
           a.attributes ->> 'camunda:calledElementVersion' as version, coalesce(s.zeebe, false) as zeebe,
           coalesce(s.all_in, false) as all_in, coalesce(s.all_out, false) as all_out, coalesce(s.none_in, false) as none_in, coalesce(s.none_out, false) as none_out
      from activity a
      left join mapped m on m.node_pos = a.pos
      left join said s on s.node_pos = a.pos)
  select c.pos,
         jsonb_strip_nulls(jsonb_build_object(
           'code', e.tree, 'source', c.code, 'binding', c.binding, 'version', case when c.version ~ '^\d{1,9}$' then c.version::integer end,
           'inputs', coalesce(c.inputs, case when c.none_in then '[]'::jsonb end),
           'all_in', case when c.all_in or (c.zeebe and not c.none_in and c.inputs is not null) then true end,
           'outputs', coalesce(c.outputs, case when c.none_out then '[]'::jsonb end), 'all_out', case when c.all_out then true end)),
         case when c.code is null then 'it names no process to call'
              when e.problem is not null then format('what it calls cannot be read: %s', e.problem)
              when c.binding not in ('latest', 'deployment', 'version') then format('its binding %s is not known', quote_literal(left(c.binding, 50)))
              when c.binding = 'version' and coalesce(c.version, '') !~ '^\d{1,9}$' then 'it is bound to a version without naming its number'
              else c.problem end
    from call c
   cross join lateral bpm_core.compile_expression(case when c.code ~ '^(=|.*[$#]\{)' then c.code else regexp_replace(c.code, '^[^:]*:', '') end) e
$$;
