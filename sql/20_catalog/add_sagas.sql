-- A process or sub-process that says bpm:saga="true" gets an event sub-process <id>:saga, begun by whatever goes wrong inside and is not caught there: it
-- compensates, and throws the error again, outwards.
-- Returns:  nodes and flows.
create or replace function bpm_core.add_sagas(
  p_elements bpm_core.bpmn_element[], p_processes bpm_core.draft_process[], p_nodes bpm_core.draft_node[], p_flows bpm_core.draft_flow[],
  out nodes bpm_core.draft_node[], out flows bpm_core.draft_flow[])
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_around bpm_core.draft_node;
  v_start  bpm_core.draft_node;
  v_throw  bpm_core.draft_node;
  v_end    bpm_core.draft_node;
  v_saga   text;
  r_saga   record;
begin
  nodes := p_nodes;
  flows := p_flows;
  for r_saga in
    select e.pos, coalesce(n.process_pos, p.pos) as process_pos, coalesce(n.node_id, p.process_id) as id, n.node_id as scope_id
      from unnest(p_elements) e
      left join unnest(p_nodes) n on n.pos = e.pos
      left join unnest(p_processes) p on p.pos = e.pos and p.deployed
     where e.space = 'bpmn' and e.tag in ('process', 'subProcess', 'transaction') and e.attributes ->> 'bpm:saga' = 'true'
       and coalesce(n.pos, p.pos) is not null
  loop
    v_saga := r_saga.id || ':saga';
    v_around.pos := r_saga.pos;
    v_around.process_pos := r_saga.process_pos;
    v_around.scope_pos := r_saga.pos;
    v_start := bpm_core.plain_node(v_around, v_saga || '-start', 'startEvent', 'ErrorBoundary', v_saga, 0, 1);
    v_start.attached_to := r_saga.scope_id;
    v_end := bpm_core.plain_node(v_around, v_saga || '-end', 'endEvent', 'ErrorEnd', v_saga, 1, 0);
    v_end.attributes := jsonb_build_object('saga', case when r_saga.scope_id is null then 'process' else 'scope' end);
    v_throw := bpm_core.plain_node(v_around, v_saga || '-throw', 'intermediateThrowEvent', 'CompensationThrow', v_saga, 1, 1);
    v_throw.attributes := '{"whole": true}';
    nodes := nodes || bpm_core.plain_node(v_around, v_saga, 'subProcess', 'EventSubProcess', r_saga.scope_id, 0, 0) || v_start || v_throw || v_end;
    flows := flows || bpm_core.plain_flow(v_around, v_saga || '-throw-flow', v_saga || '-start', v_saga || '-throw')
                   || bpm_core.plain_flow(v_around, v_saga || '-end-flow', v_saga || '-throw', v_saga || '-end');
  end loop;
end
$$;
