-- A token that waits at a join is taken out of its round: what waits behind it over the same flow moves up, and the join is asked again.
begin;
select plan(14);
create function pg_temp.at(p_process_instance_id uuid, p_flow text) returns bpm_core.moving language sql as $$
  select row(t.tenant_id, t.workflow_instance_id, w.workflow_version_id, t.scope_id, t.id, t.node_id, t.via_flow_id, null)::bpm_core.moving
    from bpm_core.token t join bpm_core.workflow_instance w on w.id = t.workflow_instance_id
   where t.workflow_instance_id = test.workflow(p_process_instance_id) and t.node_id = 'j' and t.state = 'Waiting' and t.via_flow_id = p_flow
   order by t.id limit 1 $$;
-- What a person would do who lets the first token over a flow pass the join.
create function pg_temp.pass(p_process_instance_id uuid, p_flow text) returns text language plpgsql as $$
declare
  v_token bpm_core.moving := pg_temp.at(p_process_instance_id, p_flow);
begin
  perform bpm_core.leave_joins(array[v_token]);
  v_token.flow_id := null;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id)
  values (v_token.tenant_id, v_token.instance_id, bpm_core.now(), 'TokenMoved', v_token.token_id, v_token.node_id);
  perform bpm_core.advance_isolated(array[v_token]);
  return '';
end $$;
create function pg_temp.rounds(p_process_instance_id uuid) returns text[] language sql as $$
  select array_agg(a.flow_id || ' ' || a.round order by a.flow_id, a.round) from bpm_core.parallel_join_arrival a where a.workflow_instance_id = test.workflow(p_process_instance_id) $$;
create function pg_temp.shape(p_gateway text) returns text language sql as $$
  select test.service('a') || test.timer('again', '<timeDuration>PT1M</timeDuration>', 'a', false) || test.service('b') || test.service('after')
  || format('<parallelGateway id="f"/><exclusiveGateway id="m"/><%s id="j"/><endEvent id="end"/>', p_gateway)
  || test.flows('start>f', 'f>a', 'f>b', 'a>m', 'again>m', 'm>j', 'b>j', 'j>after', 'after>end') $$;
select test.deploy('all', pg_temp.shape('parallelGateway')), test.deploy('some', pg_temp.shape('inclusiveGateway')) \gset
create function pg_temp.two(p_code text) returns uuid language plpgsql as $$
declare
  v_process uuid := test.start(p_code);
begin
  perform bpm.advance_clock(interval '61 seconds');
  perform test.tick('timers');
  perform test.complete_next('a');
  return v_process;
end $$;

select pg_temp.two('all') as p \gset
select is(pg_temp.rounds(:'p'), '{"m_j 1","m_j 2"}', 'two over one flow');
select pg_temp.pass(:'p', 'm_j') as passed \gset
select is(pg_temp.rounds(:'p') || test.standing(:'p'), '{"m_j 1","after Waiting","b Waiting","j Waiting"}', 'one passed, the other moved up');
select is((select array_agg(j.round || ':' || j.joined || '/' || j.expected) from bpm_core.parallel_join j where j.workflow_instance_id = test.workflow(:'p')), '{1:1/2}', 'the second round is empty');
select test.complete_next('b') as b \gset
select is(test.standing(:'p'), '{"after Waiting","after Waiting"}', 'the join fires with what came');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');

select pg_temp.two('some') as p \gset
select is((select array_agg(format('%s %s %s', j.round, j.waiting, j.filled)) from bpm_core.inclusive_join j where j.workflow_instance_id = test.workflow(:'p')), '{"1 2 01"}', 'two over one flow');
select pg_temp.pass(:'p', 'm_j') as passed \gset
select is(pg_temp.rounds(:'p') || test.standing(:'p'), '{"m_j 1","after Waiting","b Waiting","j Waiting"}', 'one passed, the other moved up');
select is((select array_agg(format('%s %s %s', j.round, j.waiting, j.filled)) from bpm_core.inclusive_join j where j.workflow_instance_id = test.workflow(:'p')), '{"1 1 01"}', 'its flow is still filled');
select pg_temp.pass(:'p', 'm_j') as passed \gset
select is((select array_agg(format('%s %s %s', j.round, j.waiting, j.filled)) from bpm_core.inclusive_join j where j.workflow_instance_id = test.workflow(:'p')), '{"1 0 00"}', 'then nothing waits');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select test.complete_next('b') as b \gset
select is(test.standing(:'p'), '{"after Waiting","after Waiting","after Waiting"}', 'the next one passes alone');

-- What is not there is left alone
select pg_temp.two('some') as p \gset
select bpm_core.leave_joins(array[row((t.t).tenant_id, (t.t).instance_id, null, (t.t).scope_id, bpm_core.new_id(), 'j', 'm_j', null)::bpm_core.moving]) from (select pg_temp.at(:'p', 'm_j') as t) t \gset
select is(pg_temp.rounds(:'p'), '{"m_j 1","m_j 2"}', 'a token that does not wait there');
select bpm_core.leave_joins(null) \gset
select is((select j.waiting from bpm_core.inclusive_join j where j.workflow_instance_id = test.workflow(:'p')), 2, 'none at all');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
