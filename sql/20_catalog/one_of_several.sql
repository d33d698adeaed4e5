-- One definition of an event with several, as an event of its own.
create or replace function bpm_core.one_of_several(p_node bpm_core.draft_node, p_number integer, p_definition jsonb, p_tag text)
returns bpm_core.draft_node
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node := p_node;
begin
  v_node.node_id := p_node.node_id || ':' || p_number;
  v_node.tag := p_tag;
  v_node.event := p_definition ->> 'event';
  v_node.definition := p_definition -> 'definition';
  v_node.default_ref := null;
  return v_node;
end
$$;
