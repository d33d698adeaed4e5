-- bpm.skip_node: a token leaves its node by hand, as if what it waits for there were done.
begin;
select plan(32);
create function pg_temp.token(p_process_instance_id uuid, p_node text) returns uuid language sql as $$
  select t.id from bpm_core.token t where t.workflow_instance_id = test.workflow(p_process_instance_id) and t.node_id = p_node
     and t.state in ('Ready', 'Waiting', 'Failed') order by t.id desc limit 1 $$;
create function pg_temp.skip(p_process_instance_id uuid, p_node text, p_more text default '') returns text language plpgsql as $$
declare v_said text;
begin
  execute format('select concat_ws('' '', s.node_id, s.state, s.instance_status) from bpm.skip_node(%L%s) s', pg_temp.token(p_process_instance_id, p_node), p_more) into v_said;
  return v_said;
end $$;
select test.deploy_everything() \gset

-- A task in hand, with variables
select test.start('everything', '{"amount": 5}', 'K-1') as a \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{reserve}') c \gset
select pg_temp.token(:'a', 'reserve') as token \gset
select is(pg_temp.skip(:'a', 'reserve', ', ''{"reserved": 7}'', p_reason => ''done by phone'', p_actor => ''ann'''), 'fork Completed Running', 'it leaves as if the task were done');
select is(test.standing(:'a')::text || (bpm.get_variables(:'a') ->> 'reserved'), '{"charge Waiting","picked Waiting"}7', 'with the variables');
select is((select t.state from bpm.task t where t.task_id = :'task_id'), 'Cancelled', 'the task is closed');
select is((select c.outcome::text from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', :'task_id', 'fencing_token', :fencing_token))) c), 'Cancelled', 'its worker is told');
select is((select concat_ws(' ', h.node_id, h.from_state, h.actor, h.detail - 'flow') from bpm.get_history(:'a') h where h.kind = 'NodeSkipped'), 'reserve Waiting ann {"reason": "done by phone", "variables": {"reserved": 7}}', 'history says by whom and why');
select is((select concat_ws(' ', e.actor, e.action, e.reason, e.detail ->> 'node', e.detail -> 'names') from bpm_core.audit_event e where e.aggregate_id = :'token'), 'ann SkipNode done by phone reserve ["reserved"]', 'it is audited, without values');
select is(test.broken(), '{}', 'invariants hold, replay of variables among them');

-- Waits of every kind
select is(pg_temp.skip(:'a', 'picked'), 'join Waiting Running', 'a message that will not come');
select is((select array_agg(distinct s.state::text) from bpm_core.subscription s where s.workflow_instance_id = test.workflow(:'a')), '{Closed}', 'its wait is closed');
select pg_temp.skip(:'a', 'charge') as said \gset
select is(:'said' || '; ' || (select array_agg(t.status order by t.node_id)::text from bpm.timer t where t.process_instance_id = :'a'), 'pause Waiting Running; {Scheduled,Cancelled}', 'a task with a timer beside it');
select is(pg_temp.skip(:'a', 'pause'), 'look Waiting Running', 'a timer: the join fires');
select is(pg_temp.skip(:'a', 'look', ', ''{"seen": true}'''), 'end Completed Completed', 'a task of a person; the process ends');
select is(test.broken(), '{}', 'invariants hold when it has ended');
select test.start('everything', '{"amount": 5000}', 'K-2') as b \gset
select pg_temp.skip(:'b', 'reserve') as done \gset
select pg_temp.skip(:'b', 'release') as said \gset
select is(:'said' || (select a.status from bpm.approval a where a.process_instance_id = :'b'), 'fork Completed RunningCancelled', 'a step that waits for a decision');

-- A token that failed where it could not decide: the way on is named
select test.start('everything', '{"amount": "x"}', 'K-3') as c \gset
select pg_temp.skip(:'c', 'reserve') as done \gset
select throws_ok(format('select pg_temp.skip(%L, ''big'')', :'c'), 'BP422', null, 'several flows leave the gateway');
select is(kit.raised(format('select pg_temp.skip(%L, ''big'')', :'c')) -> 'detail' -> 'flows', '["big_release", "big_merge"]', 'they are named');
select throws_ok(format('select pg_temp.skip(%L, ''big'', '', p_flow_id => ''''fork_book'''''')', :'c'), 'BP422', null, 'not one that leaves another node');
select is(pg_temp.skip(:'c', 'big', ', p_flow_id => ''big_release'''), 'release Waiting Running', 'by the one named');
select is(test.incidents(:'c') || test.broken(), '{}', 'the incident is closed, invariants hold');

-- Exhausted attempts: the dead letter goes as well
select test.start('everything', '{"amount": 5}', 'K-4') as d \gset
select test.fail_next('reserve', false) as done \gset
select pg_temp.skip(:'d', 'reserve') as said \gset
select is(:'said' || (select l.state from bpm.dead_letter l where l.process_instance_id = :'d'), 'fork Completed RunningDiscarded', 'a task that has failed for good');

-- A parked token: the node before which it stands is not entered
select test.deploy('round', '<exclusiveGateway id="top"/><task id="step"/><exclusiveGateway id="again" default="again_end"/><endEvent id="end"/>'
  || test.flows('start>top', 'top>step', 'step>again', 'again>end') || test.when('again>top', '${go == true}')) \gset
select test.start('round', '{"go": true}') as e \gset
select is(test.standing(:'e')::text || pg_temp.skip(:'e', 'step', ', ''{"go": false}'''), '{"step Ready"}end Completed Completed', 'a parked one leaves before it has entered');

-- A sub-process, from its host and from inside, where a variable is declared
select test.deploy('house', '<subProcess id="sub"><startEvent id="in"/>' || test.service('x') || '<endEvent id="out"/>' || test.flows('in>x', 'x>out') || '</subProcess>'
  || test.service('after') || '<endEvent id="end"/>' || test.flows('start>sub', 'sub>after', 'after>end')) \gset
select test.start('house') as f \gset
select is(pg_temp.skip(:'f', 'sub') || test.standing(:'f')::text, 'after Waiting Running{"after Waiting"}', 'a sub-process as a whole');
select is((select array_agg(t.node_id || ' ' || t.state order by t.node_id) from bpm.task t where t.process_instance_id = :'f'), '{"after Ready","x Cancelled"}', 'with what is inside closed');
select test.start('house') as g \gset
select is(pg_temp.skip(:'g', 'x') || test.standing(:'g')::text, 'out Completed Running{"after Waiting"}', 'the last node inside: it ends');
select is(test.broken(), '{}', 'invariants hold after sub-processes');

-- Refused
select throws_ok($$select * from bpm.skip_node(null)$$, 'BP404', null, 'no token');
select throws_ok(format('select * from bpm.skip_node(%L)', :'token'), 'BP409', null, 'one that has ended');
select throws_ok(format('select pg_temp.skip(%L, ''after'', %L)', :'f', x.args), x.code, null, x.why)
  from (values (', ''[]''', 'BP422', 'variables that are none'), (', p_reason => repeat(''x'', 4001)', 'BP422', 'a reason too long'), (', p_actor => '' ''', 'BP400', 'an actor without a name')) x(args, code, why);
select bpm.suspend_process(:'f') is not null as suspended \gset
select throws_ok(format('select pg_temp.skip(%L, ''after'')', :'f'), 'BP423', null, 'while it is suspended');
select throws_ok(format('select * from bpm.move_token(%L, ''sub'')', pg_temp.token(:'f', 'after')), 'BP423', null, 'nor is it moved');
select * from finish();
rollback;
