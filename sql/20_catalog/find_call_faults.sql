-- What is wrong about call activities: nothing to call, a binding or a mapping that cannot be read. And odd: a process that is named, and neither in the
-- file nor deployed, so that the call would stop.
create or replace function bpm_core.find_call_faults(
  p_elements bpm_core.bpmn_element[], p_processes bpm_core.draft_process[], p_nodes bpm_core.draft_node[], p_tenant_id text)
returns setof bpm_core.finding
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with call as materialized (
    select n.node_id, bpm_core.element_label(n.tag, n.node_id, n.name) as label, c.problem, c.spec ->> 'binding' as binding,
           (c.spec ->> 'version')::integer as version, case c.spec #>> '{code,op}' when 'value' then c.spec #>> '{code,value}' end as code
      from unnest(p_nodes) n
      join bpm_core.drawn_calls(p_elements) c on c.node_pos = n.pos
     where n.tag = 'callActivity')
  select bpm_core.fault(case when c.problem = 'it names no process to call' then 'UnknownReference' when c.problem like '%binding%' then 'UnsupportedElement' else 'InvalidCondition' end,
           format('%s: %s.', c.label, c.problem), c.node_id, null,
           'Name the id of a process: calledElement="order"; bindings are latest, deployment and version.')
    from call c
   where c.problem is not null
  union all
  select bpm_core.warning('CalledProcessMissing', format('%s calls the process %s%s, which is %s.', c.label, left(c.code, 100), ' version ' || c.version,
                                                         case c.binding when 'deployment' then 'not in this file' else 'not deployed' end),
           c.node_id, null, 'Deploy it before it is called.')
    from call c
   where c.problem is null and c.code is not null
     and (c.binding = 'version' or not exists (select from unnest(p_processes) p where p.process_id = c.code and p.deployed))
     and (c.binding = 'deployment'
          or not exists (select from bpm_core.process_definition d
                           join bpm_core.process_version v on v.tenant_id = d.tenant_id and v.definition_id = d.id
                          where d.tenant_id = p_tenant_id and d.code = c.code and (c.binding <> 'version' or v.version = c.version)))
$$;
