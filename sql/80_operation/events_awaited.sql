-- The events a token waits for at its node: the node itself, the boundary events attached to it, what an event-based gateway leads to. Event
-- sub-processes inside it are waited for until an interrupting one has begun.
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
     and not (n.element = 'startEvent'
              and exists (select
                            from bpm_core.scope around
                            join bpm_core.scope begun on begun.parent_scope_id = around.id and begun.tenant_id = around.tenant_id
                            join bpm_core.workflow_node s
                              on s.tenant_id = n.tenant_id and s.workflow_version_id = n.workflow_version_id and s.scope_node_id = begun.node_id
                           where around.tenant_id = p_token.tenant_id and around.host_token_id = p_token.id and around.state = 'Open'
                             and s.attached_to = n.attached_to and s.element = 'startEvent' and (s.interrupting or s.kind = 'ErrorBoundary')))
  union all
  select f.target_id, f.target_kind
    from bpm_core.workflow_node n
    join bpm_core.workflow_flow f on f.tenant_id = n.tenant_id and f.workflow_version_id = n.workflow_version_id and f.source_id = n.node_id
   where n.tenant_id = p_token.tenant_id and n.workflow_version_id = p_version_id and n.node_id = p_token.node_id and n.kind = 'EventGateway'
$$;
