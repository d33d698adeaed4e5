-- The node around a multi-instance activity or a loop: it stands where the activity was drawn.
create or replace function bpm_core.loop_node(p_activity bpm_core.draft_node, p_node_id text, p_tag text, p_spec jsonb)
returns bpm_core.draft_node
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node := bpm_core.plain_node(
    p_activity, p_node_id, p_tag, case when p_spec ->> 'mode' = 'Loop' then 'StandardLoop' else 'MultiInstance' end::bpm_core.node_kind,
    p_activity.scope_id, p_activity.incoming, p_activity.outgoing);
begin
  v_node.name := p_activity.name;
  v_node.default_ref := p_activity.default_ref;
  v_node.conditional := p_activity.conditional;
  v_node.expressions := jsonb_build_object('loop', p_spec);
  return v_node;
end
$$;
