-- Leads a flow from a compensation boundary event to its handler, or to what that stands in as a loop, and from there to <id>:done.
-- Returns:  nodes and flows.
create or replace function bpm_core.put_handler(
  p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], p_event bpm_core.draft_node, p_handler bpm_core.draft_node,
  out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_done  text := p_handler.node_id || ':done';
  v_enter text := coalesce((select n.node_id from unnest(p_nodes) n
                             where n.process_pos = p_handler.process_pos and n.node_id in (p_handler.node_id || ':multi', p_handler.node_id || ':loop')),
                           p_handler.node_id);
begin
  nodes := p_nodes || bpm_core.plain_node(p_event, v_done, 'endEvent', 'CompensationDone', p_event.scope_id, 1, 0);
  flows := p_flows || bpm_core.plain_flow(p_event, p_event.node_id || ':undo-flow', p_event.node_id, v_enter)
                   || bpm_core.plain_flow(p_event, v_done || '-flow', v_enter, v_done);
end
$$;
