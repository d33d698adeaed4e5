-- A node the compiler adds beside one that is drawn: in the same process and scope, without attributes.
create or replace function bpm_core.plain_node(
  p_beside bpm_core.draft_node, p_node_id text, p_tag text, p_kind bpm_core.node_kind, p_scope_id text, p_incoming integer, p_outgoing integer)
returns bpm_core.draft_node
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node;
begin
  v_node.pos := p_beside.pos;
  v_node.process_pos := p_beside.process_pos;
  v_node.scope_pos := p_beside.scope_pos;
  v_node.scope_id := p_scope_id;
  v_node.node_id := p_node_id;
  v_node.tag := p_tag;
  v_node.kind := p_kind;
  v_node.attributes := '{}';
  v_node.extensions := '{}';
  v_node.interrupting := true;
  v_node.incoming := p_incoming;
  v_node.outgoing := p_outgoing;
  v_node.conditional := 0;
  v_node.expressions := '{}';
  return v_node;
end
$$;
