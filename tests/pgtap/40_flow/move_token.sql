-- bpm.move_token: a token is put before another node of its sub-process by hand.
begin;
select plan(40);
create function pg_temp.token(p_process_instance_id uuid, p_node text) returns uuid language sql as $$
  select t.id from bpm_core.token t where t.workflow_instance_id = test.workflow(p_process_instance_id) and t.node_id = p_node
     and t.state in ('Ready', 'Waiting', 'Failed') order by t.id desc limit 1 $$;
select test.deploy_everything() \gset

-- From a task in hand, with timers beside it, to another task and back
select test.start('everything', '{"amount": 5}', 'M-1') as a \gset
select test.complete_next('reserve') as done \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{charge}') c \gset
select pg_temp.token(:'a', 'charge') as token \gset
select m.* from bpm.move_token(:'token', 'remind', 'paid by hand', 'ann') m \gset m_
select is(concat_ws(' ', :'m_token_id' = :'token', :'m_node_id', :'m_state', :'m_instance_status'), 't remind Waiting Running', 'it waits at the node named');
select is(test.standing(:'a'), '{"picked Waiting","remind Waiting"}', 'the same token, nothing else moved');
select is((select array_agg(t.node_id || ' ' || t.state order by t.node_id) from bpm.task t where t.process_instance_id = :'a'), '{"charge Cancelled","remind Ready","reserve Completed"}', 'the task in hand is closed, the new one offered');
select is((select t.status from bpm.timer t where t.process_instance_id = :'a'), 'Cancelled', 'and its boundary timer');
select is((select c.outcome::text from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', :'task_id', 'fencing_token', :fencing_token))) c), 'Cancelled', 'its worker is told');
select is((select concat_ws(' ', h.kind, h.node_id, h.from_state, h.to_state, h.actor, h.detail) from bpm.get_history(:'a') h where h.kind = 'TokenPlaced'), 'TokenPlaced remind Waiting Ready ann {"from": "charge", "reason": "paid by hand"}', 'history says from where, by whom and why');
select is((select concat_ws(' ', e.actor, e.action, e.reason, e.detail ->> 'from', e.detail ->> 'to') from bpm_core.audit_event e where e.aggregate_id = :'token'), 'ann MoveToken paid by hand charge remind', 'it is audited');
select is(test.broken(), '{}', 'invariants hold, replay among them');
select is((select m.node_id || ' ' || m.state from bpm.move_token(:'token', 'charge') m), 'charge Waiting', 'back again: entered anew');
select is((select array_agg(t.node_id || ' ' || t.state || ' ' || t.attempt order by t.task_id) from bpm.task t where t.process_instance_id = :'a' and t.node_id in ('charge', 'remind')), '{"charge Cancelled 1","remind Cancelled 0","charge Ready 0"}', 'with a task of its own');
select is((select m.node_id || ' ' || m.state from bpm.move_token(:'token', 'charge') m), 'charge Waiting', 'to where it stands: entered anew, too');
select is((select m.node_id || ' ' || m.state from bpm.move_token(:'token', 'pause') m), 'pause Waiting', 'to a timer');
select is((select m.node_id || ' ' || m.state from bpm.move_token(pg_temp.token(:'a', 'picked'), 'fork') m), 'fork Completed', 'to a gateway: it forks there');
select is(test.standing(:'a'), '{"charge Waiting","pause Waiting","picked Waiting"}', 'and its children go their ways');
select is(test.broken(), '{}', 'invariants hold after that');

-- A token that failed; its incident goes with it
select test.start('everything', '{"amount": "x"}', 'M-2') as b \gset
select test.complete_next('reserve') as done \gset
select is((select m.node_id || ' ' || m.state from bpm.move_token(pg_temp.token(:'b', 'big'), 'merge') m), 'fork Completed', 'past the gateway that could not decide');
select is((select i.state || ' ' || i.resolved_by from bpm.incident i where i.process_instance_id = :'b'), 'Resolved engine', 'its incident is closed');
select is((select m.state || ' ' || m.instance_status from bpm.move_token(pg_temp.token(:'b', 'charge'), 'stop') m), 'Completed Completed', 'to a terminate end');

-- Joins: a token can be taken out of one
select test.deploy('twice', '<parallelGateway id="fork"/><exclusiveGateway id="m"/><parallelGateway id="join"/><endEvent id="end"/>' || test.service('a1') || test.service('a2') || test.service('b') || test.service('z')
  || test.flows('start>fork', 'fork>a1', 'fork>a2', 'fork>b', 'a1>m', 'a2>m', 'm>join', 'b>join', 'join>z', 'z>end')) \gset
select test.start('twice') as c \gset
select pg_temp.token(:'c', 'a1') as first, pg_temp.token(:'c', 'a2') as second \gset
select test.complete_next('a1') as done \gset
select test.complete_next('a2') as done \gset
select throws_ok(format('select * from bpm.move_token(%L, ''z'')', :'first'), 'BP422', null, 'not one before which another waits');
select is((kit.raised(format('select * from bpm.move_token(%L, ''z'')', :'first')) -> 'detail' ->> 'last_token')::uuid, :'second'::uuid, 'which is named');
select is((select m.node_id || ' ' || m.state from bpm.move_token(:'second', 'b') m), 'b Waiting', 'the last that came');
select is(test.broken(), '{}', 'the join counts right');
select test.complete_next('b') as done \gset
select is(test.standing(:'c'), '{"b Waiting","z Waiting"}', 'it fires with what it has');
select test.complete_next('b') as done \gset
select is(test.broken() || test.standing(:'c'), '{"join Waiting","z Waiting"}', 'and waits for the next round');
select test.complete_next('z') as done \gset
select is(test.incidents(:'c'), '{"JoinStarved join"}', 'which nobody can bring');
select is((select m.node_id || ' ' || m.state || ' ' || m.instance_status from bpm.move_token(pg_temp.token(:'c', 'join'), 'end') m), 'end Completed Completed', 'until it is taken out');
select is(test.incidents(:'c') || test.broken(), '{}', 'the incident is gone');

-- Sub-processes: the host takes all inside with it; inside one moves inside
select test.deploy('house', '<subProcess id="sub"><startEvent id="in"/>' || test.service('x') || test.service('y') || '<endEvent id="out"/>' || test.flows('in>x', 'x>y', 'y>out') || '</subProcess>'
  || test.service('after') || '<endEvent id="end"/>' || test.flows('start>sub', 'sub>after', 'after>end')) \gset
select test.start('house') as d \gset
select is((select m.node_id from bpm.move_token(pg_temp.token(:'d', 'x'), 'y') m) || test.standing(:'d')::text, 'y{"sub Waiting","y Waiting"}', 'inside');
select throws_ok(format('select * from bpm.move_token(%L, ''after'')', pg_temp.token(:'d', 'y')), 'BP422', null, 'not out of it');
select throws_ok(format('select * from bpm.move_token(%L, ''x'')', pg_temp.token(:'d', 'sub')), 'BP422', null, 'nor into it');
select is((select m.node_id from bpm.move_token(pg_temp.token(:'d', 'sub'), 'after') m), 'after', 'the host leaves');
select is(test.standing(:'d')::text || test.broken()::text, '{"after Waiting"}{}', 'with everything inside closed');

-- Refused
select throws_ok(format('select * from bpm.move_token(%L, %s)', pg_temp.token(:'d', 'after'), x.args), x.code, null, x.why)
  from (values ('''nowhere''', 'BP422', 'a node that is not there'), ('null', 'BP422', 'no node'), ('''start''', 'BP422', 'a start event'),
               ('''after'', repeat(''x'', 4001)', 'BP422', 'a reason too long')) x(args, code, why);
select throws_ok($$select * from bpm.move_token(null, 'a')$$, 'BP404', null, 'no token');
select throws_ok(format('select * from bpm.move_token(%L, ''z'')', :'first'), 'BP409', null, 'one that has ended');
select throws_ok(format('select * from bpm.move_token(%L, ''join'')', pg_temp.token(:'a', 'pause')), 'BP422', null, 'into a join');
select is(test.broken(), '{}', 'invariants hold at the end');
select * from finish();
rollback;
