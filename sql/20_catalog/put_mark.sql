-- Puts <id>:mark behind an activity, which takes its outgoing flows over.
-- Returns:  nodes and flows.
create or replace function bpm_core.put_mark(
  p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], p_activity bpm_core.draft_node, p_event_id text, p_handler_id text,
  out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node := p_activity;
  v_mark bpm_core.draft_node;
begin
  v_mark := bpm_core.plain_node(p_activity, p_activity.node_id || ':mark', 'intermediateThrowEvent', 'CompensationMark', p_activity.scope_id, 1, p_activity.outgoing);
  v_mark.conditional := p_activity.conditional;
  v_mark.default_ref := p_activity.default_ref;
  v_mark.attributes := jsonb_build_object('activity', p_activity.node_id, 'event', p_event_id, 'handler', p_handler_id);
  v_node.outgoing := 1;
  v_node.conditional := 0;
  v_node.default_ref := null;
  nodes := array(
    select case when n.process_pos = v_node.process_pos and n.node_id = v_node.node_id then v_node else n::bpm_core.draft_node end from unnest(p_nodes) n) || v_mark;
  flows := array(
    select case when f.process_pos = v_node.process_pos and f.source_id = v_node.node_id then bpm_core.flow_from(f, v_mark.node_id) else f::bpm_core.draft_flow end
      from unnest(p_flows) f)
    || bpm_core.plain_flow(p_activity, v_mark.node_id || '-flow', v_node.node_id, v_mark.node_id);
end
$$;
