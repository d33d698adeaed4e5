-- The joins of an instance that tokens have reached, in the scopes that are still open: their rounds count by flow, so they keep their id and
-- their flows.
-- Returns:  migration_item rows of kind join; id is the scope.
create or replace function bpm_core.migration_joins(p_tenant_id text, p_instance_id uuid, p_from uuid, p_to uuid, p_mapping jsonb)
returns setof bpm_core.migration_item
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select 'join', j.scope_id, null::uuid, j.node_id, n.node_id, 'keep',
         case
           when n.node_id <> j.node_id then 'JoinRenamed'
           when (select array_agg(f.flow_id order by f.flow_id) from bpm_core.workflow_flow f
                  where f.tenant_id = p_tenant_id and f.workflow_version_id = p_from and f.target_id = j.node_id)
                is distinct from
                (select array_agg(f.flow_id order by f.flow_id) from bpm_core.workflow_flow f
                  where f.tenant_id = p_tenant_id and f.workflow_version_id = p_to and f.target_id = n.node_id) then 'FlowsDiffer' end,
         null
    from (select distinct a.scope_id, a.node_id
            from bpm_core.parallel_join_arrival a
           where a.tenant_id = p_tenant_id and a.workflow_instance_id = p_instance_id) j
    left join lateral (select s.state from bpm_core.scope s where s.tenant_id = p_tenant_id and s.id = j.scope_id offset 0) s on true
   cross join lateral (select n.node_id from bpm_core.workflow_node n
                        where n.tenant_id = p_tenant_id and n.workflow_version_id = p_to and n.node_id = bpm_core.image_of(p_mapping, j.node_id) offset 0) n
   where coalesce(s.state, 'Open') = 'Open';
end
$$;
