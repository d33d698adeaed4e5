-- Puts the definitions of one catching event side by side before it (expand_events).
create or replace function bpm_core.expand_catch(
  p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], p_node bpm_core.draft_node, out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_gateway constant boolean := p_node.tag = 'intermediateCatchEvent';
  v_behind  text := p_node.node_id || case when v_gateway then ':out' else '' end;
  v_one     bpm_core.draft_node;
  v_number  integer := 0;
  r_one     record;
begin
  nodes := array(select n from unnest(p_nodes) n where n.scope_pos <> p_node.scope_pos or n.node_id <> p_node.node_id);
  flows := array(select bpm_core.leave_from(f, p_node.scope_pos, p_node.node_id, v_behind) from unnest(p_flows) f);
  for r_one in select d.definition from jsonb_array_elements(p_node.definition -> 'definitions') with ordinality d(definition, n) order by d.n loop
    v_number := v_number + 1;
    v_one := bpm_core.one_of_several(p_node, v_number, r_one.definition, p_node.tag);
    nodes := nodes || v_one;
    flows := flows || bpm_core.plain_flow(p_node, v_one.node_id || '-flow', v_one.node_id, v_behind);
    if v_gateway then
      flows := flows || bpm_core.plain_flow(p_node, v_one.node_id || '-wait', p_node.node_id, v_one.node_id);
    end if;
  end loop;
  v_one := p_node;
  v_one.node_id := v_behind;
  v_one.tag := 'intermediateThrowEvent';
  v_one.event := 'none';
  v_one.definition := null;
  v_one.attached_to := null;
  v_one.interrupting := true;
  nodes := nodes || v_one;
  if v_gateway then
    v_one := p_node;
    v_one.tag := 'eventBasedGateway';
    v_one.event := null;
    v_one.definition := null;
    v_one.default_ref := null;
    nodes := nodes || v_one;
  end if;
end
$$;
