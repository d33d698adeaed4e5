-- The flows into the inclusive joins of a version, numbered scope by scope.
create or replace function bpm_core.inclusive_flow_rows(p_nodes bpm_core.workflow_node[], p_flows bpm_core.workflow_flow[])
returns setof bpm_core.inclusive_flow
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select f.tenant_id, f.workflow_version_id, f.target_id, f.flow_id, x.place,
         min(x.place) over (partition by f.target_id), (count(*) over (partition by f.target_id))::integer
    from (select f as flow, (row_number() over (partition by n.scope_node_id order by f.target_id, f.flow_id))::integer - 1 as place
            from unnest(p_flows) f
            join unnest(p_nodes) n on n.node_id = f.target_id
           where f.target_kind = 'InclusiveJoin') x
   cross join lateral (select (x.flow).*) f
$$;
