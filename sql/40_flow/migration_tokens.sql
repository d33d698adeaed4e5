-- What becomes of the live tokens of an instance in another version, and what speaks against it.
-- Returns:  migration_item rows of kind token.
create or replace function bpm_core.migration_tokens(p_tenant_id text, p_instance_id uuid, p_from uuid, p_to uuid, p_mapping jsonb)
returns setof bpm_core.migration_item
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select 'token', t.id, t.id, t.node_id, n.node_id, case when n.node_id <> t.node_id then 'rename' else 'keep' end,
         case
           when n.node_id is null then 'NodeMissing'
           when (n.kind, n.element) is distinct from (o.kind, o.element) then 'KindDiffers'
           when bpm_core.image_of(p_mapping, o.scope_node_id) is distinct from n.scope_node_id then 'ScopeDiffers'
           when n.kind in ('MultiInstance', 'StandardLoop') and (n.expressions, n.attributes) is distinct from (o.expressions, o.attributes) then 'BodyDiffers'
           when n.kind in ('ParallelJoin', 'InclusiveJoin') and t.state <> 'Waiting' and not exists (
             select from bpm_core.workflow_flow f
              where f.tenant_id = p_tenant_id and f.workflow_version_id = p_to and f.flow_id = t.via_flow_id and f.target_id = n.node_id) then 'FlowMissing'
           when n.kind = 'EventGateway' and bpm_core.gateway_events(p_tenant_id, p_from, t.node_id, p_mapping)
                                            is distinct from bpm_core.gateway_events(p_tenant_id, p_to, n.node_id, '{}') then 'EventsDiffer' end,
         case when b.task_type <> d.task_type then format('offered as type %s instead of %s', b.task_type, d.task_type) end
    from (select t.* from bpm_core.token t where t.workflow_instance_id = p_instance_id offset 0) t
   cross join lateral (select o.* from bpm_core.workflow_node o
                        where o.tenant_id = p_tenant_id and o.workflow_version_id = p_from and o.node_id = t.node_id offset 0) o
    left join lateral (select n.* from bpm_core.workflow_node n
                        where n.tenant_id = p_tenant_id and n.workflow_version_id = p_to and n.node_id = bpm_core.image_of(p_mapping, t.node_id) offset 0) n on true
    left join lateral (select b.task_type from bpm_core.workflow_task_binding b
                        where b.tenant_id = p_tenant_id and b.workflow_version_id = p_to and b.node_id = n.node_id offset 0) b on true
    left join lateral (select b.task_type from bpm_core.workflow_task_binding b
                        where b.tenant_id = p_tenant_id and b.workflow_version_id = p_from and b.node_id = t.node_id offset 0) d on true
   where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Waiting', 'Failed');
end
$$;
