-- The boundary events and event sub-processes that another version adds to where tokens rest: they are opened there. Those that had a counterpart in the
-- old version are not: what fired once is not armed again.
-- Returns:  migration_item rows of kind event; id is null.
create or replace function bpm_core.migration_events(p_tenant_id text, p_instance_id uuid, p_from uuid, p_to uuid, p_mapping jsonb)
returns setof bpm_core.migration_item
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select 'event', null::uuid, t.id, null, n.node_id, 'open',
         case when t.state = 'Failed' then 'TokenFailed' end,
         format('new at %s', n.attached_to)
    from (select t.* from bpm_core.token t where t.workflow_instance_id = p_instance_id offset 0) t
   cross join lateral (select n.node_id, n.kind, n.attached_to from bpm_core.workflow_node n
                        where n.tenant_id = p_tenant_id and n.workflow_version_id = p_to and n.attached_to = bpm_core.image_of(p_mapping, t.node_id) offset 0) n
   where t.tenant_id = p_tenant_id and t.state in ('Waiting', 'Failed')
     and n.kind in ('TimerBoundary', 'MessageBoundary', 'SignalBoundary', 'ConditionalBoundary')
     and not exists (
       select
         from bpm_core.workflow_node o
        where o.tenant_id = p_tenant_id and o.workflow_version_id = p_from and o.attached_to = t.node_id
          and bpm_core.image_of(p_mapping, o.node_id) = n.node_id);
end
$$;
