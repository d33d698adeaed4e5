-- Ids that occur twice, among the elements or with a node or flow the compiler adds.
create or replace function bpm_core.find_duplicate_ids(p_elements bpm_core.bpmn_element[], p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[])
returns setof bpm_core.finding
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with drawn as (
    select e.id, count(*) as times, min(e.tag) as tag, max(e.tag) as other
      from unnest(p_elements) e
     where e.space = 'bpmn' and e.id is not null
     group by e.id
  ),
  compiled as (
    select x.id, count(*) as times
      from (select n.process_pos, n.node_id as id from unnest(p_nodes) n
            union all select f.process_pos, f.flow_id from unnest(p_flows) f) x
     group by x.process_pos, x.id
  )
  select bpm_core.fault('DuplicateId', format('The id "%s" is used %s times (%s).', left(d.id, 200), d.times, concat_ws(', ', d.tag, nullif(d.other, d.tag))), d.id, null,
           'Give each element an id of its own.')
    from drawn d where d.times > 1
  union all
  select bpm_core.fault('DuplicateId', format('The id "%s" is needed for a node that the compiler adds.', left(c.id, 200)), c.id, null, 'Rename the element.')
    from compiled c
   where c.times > 1 and not exists (select from drawn d where d.id = c.id and d.times > 1)
$$;
