-- Turns an event with several definitions into events with one each: of what may come (catch, boundary, start) any one counts, so they stand side by
-- side before the node that was drawn, a catch event behind an event-based gateway; what is thrown is thrown in a row, what ends the scope last. The events
-- are <id>:1, <id>:2, …; one that says parallelMultiple is left as it is, and refused.
-- Returns:  nodes and flows as drawn, with these.
create or replace function bpm_core.expand_events(
  p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[], out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_node bpm_core.draft_node;
begin
  nodes := p_nodes;
  flows := p_flows;
  foreach v_node in array p_nodes loop
    continue when v_node.event is distinct from 'several' or lower(v_node.attributes ->> 'parallelMultiple') = 'true';
    if v_node.tag in ('intermediateThrowEvent', 'endEvent') then
      select x.nodes, x.flows into nodes, flows from bpm_core.expand_throw(nodes, flows, v_node) x;
    else
      select x.nodes, x.flows into nodes, flows from bpm_core.expand_catch(nodes, flows, v_node) x;
    end if;
  end loop;
end
$$;
