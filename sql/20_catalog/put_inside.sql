-- A node of a process as it is inside of the body of that (wrap_bodies): what stood at the root stands in the body, but for the start events.
create or replace function bpm_core.put_inside(p_node bpm_core.draft_node, p_process_pos integer, p_body text)
returns bpm_core.draft_node
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node := p_node;
begin
  if v_node.process_pos <> p_process_pos then
    return v_node;
  elsif v_node.scope_id is null and v_node.tag = 'startEvent' and v_node.node_id not like '%:in' then
    v_node.outgoing := 1;
    v_node.conditional := 0;
    v_node.default_ref := null;
  elsif v_node.scope_id is null then
    v_node.scope_id := p_body;
  elsif v_node.tag = 'startEvent' and v_node.attached_to is null and v_node.kind <> 'StartEvent' then
    v_node.attached_to := p_body;
  end if;
  return v_node;
end
$$;
