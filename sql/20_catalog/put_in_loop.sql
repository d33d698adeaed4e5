-- A node as it is once loops are wrapped: the activity itself inside, with one way in and one out; a boundary event of one outside.
-- p_around: the node the activity is put into; p_host: the one its host is put into.
create or replace function bpm_core.put_in_loop(p_node bpm_core.draft_node, p_around text, p_host text)
returns bpm_core.draft_node
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node := p_node;
begin
  if p_around is not null then
    v_node.scope_id := p_around;
    v_node.default_ref := null;
    v_node.incoming := 1;
    v_node.outgoing := 1;
    v_node.conditional := 0;
  end if;
  v_node.attached_to := coalesce(p_host, v_node.attached_to);
  return v_node;
end
$$;
