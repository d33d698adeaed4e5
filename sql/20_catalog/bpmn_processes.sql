-- The processes of a file. Those marked executable, or not marked at all, are deployed; when there is none of them, those marked
-- isExecutable="false" are, with a warning: many modelers write it unasked. A process without a flow node is a black-box pool.
-- Returns:  one row per process element.
create or replace function bpm_core.bpmn_processes(p_elements bpm_core.bpmn_element[])
returns setof bpm_core.draft_process
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with pool as (
    select regexp_replace(e.attributes ->> 'processRef', '^[^:]*:', '') as process_id, min(nullif(btrim(e.attributes ->> 'name'), '')) as name
      from unnest(p_elements) e
     where e.space = 'bpmn' and e.tag = 'participant'
     group by 1
  ),
  filled as (select distinct e.parent as pos from unnest(p_elements) e where e.space = 'bpmn' and e.tag = any (bpm_core.bpmn_flow_node_tags())),
  process as (
    select e.pos, coalesce(e.id, 'process:' || e.pos) as process_id, coalesce(nullif(btrim(e.attributes ->> 'name'), ''), p.name) as name,
           case when lower(btrim(e.attributes ->> 'isExecutable')) in ('false', '0') then false when e.attributes ? 'isExecutable' then true end as executable,
           f.pos is not null as filled, nullif(btrim(e.attributes ->> 'bpm:owner'), '') as owner_role
      from unnest(p_elements) e
      left join pool p on p.process_id = e.id
      left join filled f on f.pos = e.pos
     where e.parent = 0 and e.space = 'bpmn' and e.tag = 'process'
  )
  select p.pos, p.process_id, p.name, p.executable,
         p.filled and (coalesce(p.executable, true) or not bool_or(p.filled and coalesce(p.executable, true)) over ()), p.owner_role
    from process p
   order by p.pos
$$;
