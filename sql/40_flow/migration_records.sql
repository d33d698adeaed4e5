-- What becomes of the ledger of compensation of an instance in another version: a step that may still be undone needs its handler there.
-- Returns:  migration_item rows of kind compensation.
create or replace function bpm_core.migration_records(p_tenant_id text, p_instance_id uuid, p_from uuid, p_to uuid, p_mapping jsonb)
returns setof bpm_core.migration_item
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select 'compensation', r.id, null::uuid, r.node_id, bpm_core.image_of(p_mapping, r.node_id),
         case when (select bool_or(bpm_core.image_of(p_mapping, x.node_id) <> x.node_id) from unnest(array[r.node_id, r.event_id, r.handler_ref]) x(node_id))
              then 'rename' else 'keep' end,
         (select case when bool_or(n.node_id is null) then 'HandlerMissing' when bool_or((n.kind, n.element) <> (o.kind, o.element)) then 'KindDiffers' end
            from unnest(array[r.node_id, r.event_id, r.handler_ref]) x(node_id)
           cross join lateral (select o.kind, o.element from bpm_core.workflow_node o
                                where o.tenant_id = p_tenant_id and o.workflow_version_id = p_from and o.node_id = x.node_id offset 0) o
            left join lateral (select n.node_id, n.kind, n.element from bpm_core.workflow_node n
                                where n.tenant_id = p_tenant_id and n.workflow_version_id = p_to
                                  and n.node_id = bpm_core.image_of(p_mapping, x.node_id) offset 0) n on true),
         null
    from (select r.* from bpm_core.compensation_record r where r.workflow_instance_id = p_instance_id offset 0) r
   where r.tenant_id = p_tenant_id and r.status = 'Pending';
end
$$;
