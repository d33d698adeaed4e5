-- Puts the definitions of one throwing event in a row (expand_events): the first is the event that was drawn, the last is where its flows leave.
create or replace function bpm_core.expand_throw(
  p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], p_node bpm_core.draft_node, out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count  constant integer := jsonb_array_length(p_node.definition -> 'definitions');
  v_last   constant text := p_node.node_id || ':' || v_count;
  v_one    bpm_core.draft_node;
  v_before text;
  v_number integer := 0;
  r_one    record;
begin
  nodes := array(select n from unnest(p_nodes) n where n.scope_pos <> p_node.scope_pos or n.node_id <> p_node.node_id);
  flows := array(select bpm_core.leave_from(f, p_node.scope_pos, p_node.node_id, v_last) from unnest(p_flows) f);
  for r_one in
    select d.definition from jsonb_array_elements(p_node.definition -> 'definitions') with ordinality d(definition, n)
     order by d.definition ->> 'event' in ('terminate', 'error', 'cancel'), d.n
  loop
    v_number := v_number + 1;
    v_one := bpm_core.one_of_several(p_node, v_number, r_one.definition, case when v_number < v_count then 'intermediateThrowEvent' else p_node.tag end);
    if v_number = 1 then
      v_one.node_id := p_node.node_id;
    else
      flows := flows || bpm_core.plain_flow(p_node, v_one.node_id || '-flow', v_before, v_one.node_id);
    end if;
    v_before := v_one.node_id;
    nodes := nodes || v_one;
  end loop;
end
$$;
