-- The event definitions of all events, those by reference resolved.
-- Returns:  one row per event that has any: its pos, the kind (timer, message, …; several), and its attributes (of several an array definitions, each with its event),
--           with the timer's rule as timer_kind and timer_rule, and ref, the local id it points to.
create or replace function bpm_core.bpmn_events(p_elements bpm_core.bpmn_element[])
returns table (node_pos integer, event text, definition jsonb)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with element as materialized (select e.* from unnest(p_elements) e where e.space = 'bpmn'),
  drawn as (
    select d.parent as node_pos, d.pos, d.tag, d.attributes, d.pos as at
      from element d
     where d.tag like '%EventDefinition' and d.parent > 0
    union all
    select r.parent, d.pos, coalesce(d.tag, 'missingEventDefinition'), coalesce(d.attributes, jsonb_build_object('missing', r.body)), r.pos
      from element r
      left join element d on d.parent = 0 and d.tag like '%EventDefinition'
                         and (d.id = r.body or d.id = regexp_replace(r.body, '^[^:]*:', ''))
     where r.tag = 'eventDefinitionRef'
  ),
  timer as (
    select t.parent as pos, min(t.tag) as tag, min(t.body) as rule
      from element t
     where t.tag in ('timeDuration', 'timeDate', 'timeCycle')
     group by t.parent
  ),
  condition as (select c.parent as pos, min(c.body) as source from element c where c.tag = 'condition' group by c.parent),
  single as (
    select d.node_pos, d.at, regexp_replace(d.tag, 'EventDefinition$', '') as event,
           d.attributes || jsonb_strip_nulls(jsonb_build_object(
             'timer_kind', case t.tag when 'timeDuration' then 'Duration' when 'timeDate' then 'Date' when 'timeCycle' then 'Cycle' end,
             'timer_rule', t.rule,
             'condition', c.source,
             'definition_pos', d.pos)) as definition
      from drawn d
      left join timer t on t.pos = d.pos
      left join condition c on c.pos = d.pos
  )
  select s.node_pos,
         case when count(*) > 1 then 'several' else min(s.event) end,
         case when count(*) > 1 then jsonb_build_object('definitions', jsonb_agg(jsonb_build_object('event', s.event, 'definition', s.definition) order by s.at))
              else (array_agg(s.definition))[1] end
    from single s
   group by s.node_pos
$$;
