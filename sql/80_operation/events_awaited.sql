-- The events a token waits for at its node: the node itself, the boundary events attached to it, what an event-based gateway leads to.
-- Returns:  one row per event: node_id, kind.
create or replace function bpm_core.events_awaited(p_token bpm_core.token, p_version_id uuid)
returns table (node_id text, kind bpm_core.node_kind)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select n.node_id, n.kind
    from bpm_core.workflow_node n
   where n.tenant_id = p_token.tenant_id and n.workflow_version_id = p_version_id and n.node_id = p_token.node_id
  union all
  select n.node_id, n.kind
    from bpm_core.workflow_node n
   where n.tenant_id = p_token.tenant_id and n.workflow_version_id = p_version_id and n.attached_to = p_token.node_id
     and not (n.element = 'startEvent' and bpm_core.starts_closed(p_token.tenant_id, p_token.id, p_version_id))
  union all
  select f.target_id, f.target_kind
    from bpm_core.workflow_node n
    join bpm_core.workflow_flow f on f.tenant_id = n.tenant_id and f.workflow_version_id = n.workflow_version_id and f.source_id = n.node_id
   where n.tenant_id = p_token.tenant_id and n.workflow_version_id = p_version_id and n.node_id = p_token.node_id and n.kind = 'EventGateway'
$$;
