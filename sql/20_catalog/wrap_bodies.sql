-- Puts the inside of a process that has event sub-processes at its root into a sub-process of its own, <process>:body: what waits for them is then the token
-- of that, and the kernel needs no other case. The start events stay outside; inside, each is continued by <start event>:in.
-- Returns:  nodes and flows, not yet lowered.
create or replace function bpm_core.wrap_bodies(
  p_processes bpm_core.draft_process[], p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[],
  out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_process bpm_core.draft_process;
  v_node    bpm_core.draft_node;
  v_body    text;
begin
  nodes := p_nodes;
  flows := p_flows;
  foreach v_process in array p_processes loop
    continue when not exists (select from unnest(p_nodes) n where n.process_pos = v_process.pos and n.scope_id is null and n.kind = 'EventSubProcess');
    v_body := v_process.process_id || ':body';
    foreach v_node in array p_nodes loop
      continue when v_node.process_pos <> v_process.pos or v_node.scope_id is not null or v_node.tag <> 'startEvent';
      flows := array(select bpm_core.leave_from(f, v_node.scope_pos, v_node.node_id, v_node.node_id || ':in') from unnest(flows) f);
      nodes := nodes || bpm_core.plain_node(v_node, v_node.node_id || ':in', 'startEvent', 'StartEvent', null, 0, v_node.outgoing);
      flows := flows || bpm_core.plain_flow(v_node, v_node.node_id || ':in-flow', v_node.node_id, v_body);
    end loop;
    v_node.process_pos := v_process.pos;
    v_node.scope_pos := v_process.pos;
    v_node.pos := v_process.pos;
    nodes := array(select bpm_core.put_inside(n, v_process.pos, v_body) from unnest(nodes) n);
    nodes := nodes || bpm_core.plain_node(v_node, v_body, 'subProcess', 'SubProcess', null, 1, 1)
                   || bpm_core.plain_node(v_node, v_process.process_id || ':end', 'endEvent', 'EndEvent', null, 1, 0);
    flows := flows || bpm_core.plain_flow(v_node, v_process.process_id || ':end-flow', v_body, v_process.process_id || ':end');
  end loop;
end
$$;
