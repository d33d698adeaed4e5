-- A join that nothing can complete any more is an incident JoinStarved, not a silent stop.
begin;
select plan(13);
select test.deploy('starve', test.service('a') || test.service('b') || '<parallelGateway id="fork"/><exclusiveGateway id="gate" default="gate_join"/><parallelGateway id="join"/><endEvent id="end"/><endEvent id="out"/>'
  || test.flows('start>fork', 'fork>a', 'fork>b', 'a>gate', 'gate>join', 'b>join', 'join>end') || test.when('gate>out', '${leave == true}')) \gset

-- The branch leaves after the other has arrived
select test.start('starve', '{"leave": true}') as one \gset
select test.complete_next('b') as b \gset
select is(test.incidents(:'one'), '{}', 'waiting for a branch that is on its way');
select test.complete_next('a') as a \gset
select is(test.incidents(:'one') || test.standing(:'one') || test.status(:'one'), '{"JoinStarved join","join Waiting",Running}', 'the branch left by another way: an incident; the token keeps its place');
select is((select i.detail -> 'joins' from bpm.incident i where i.process_instance_id = :'one'), '[{"node": "join", "round": 1, "joined": 1, "expected": 2}]'::jsonb, 'that says what is missing');
select is((select i.token_id from bpm.incident i where i.process_instance_id = :'one'), null, 'and stops no token');
select is((select h.node_id from bpm.get_history(:'one') h where h.kind = 'IncidentOpened'), 'join', 'history has it');

-- Or before
select test.start('starve', '{"leave": true}') as two \gset
select test.complete_next('a') as a \gset
select is(test.incidents(:'two'), '{}', 'nobody waits there yet');
select test.complete_next('b') as b \gset
select is(test.incidents(:'two'), '{"JoinStarved join"}', 'the last one to arrive finds nobody left to wait for');

-- Both in one call
select test.start('starve', '{"leave": true}') as three \gset
select c.tasks from bpm.claim_tasks_at('w', '{a,b}', 2) c \gset
select count(*) as done from bpm.complete_tasks(test.items(:'tasks')) \gset
select is(test.incidents(:'three'), '{"JoinStarved join"}', 'both in one call: one incident');

-- Resolved without a cure
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'one' \gset
select is((select array_agg(i.state order by i.created_at) from bpm.incident i where i.process_instance_id = :'one'), '{Resolved,Open}', 'resolved without a cure: a new incident at once');

-- The end takes it along
select bpm.cancel_process(:'two') is not null as cancelled \gset
select is(test.incidents(:'two') || (select array_agg(i.state || ' ' || i.resolved_by) from bpm.incident i where i.process_instance_id = :'two'), '{"Resolved engine"}', 'cancelling the process resolves it');

-- Not starved: a stopped branch can be driven again
select test.deploy('stopped', test.service('a', 'bpm:retries="1"') || test.service('b') || '<parallelGateway id="fork"/><parallelGateway id="join"/><endEvent id="end"/>'
  || test.flows('start>fork', 'fork>a', 'fork>b', 'a>join', 'b>join', 'join>end')) \gset
select test.start('stopped') as four \gset
select test.fail_next('a') as failed \gset
select test.complete_next('b') as b \gset
select is(test.incidents(:'four'), '{"AttemptsExhausted a"}', 'a branch that stopped is still live');

-- Several joins
select test.deploy('pair', test.service('a') || test.service('b') || test.service('c') || '<parallelGateway id="fork"/><exclusiveGateway id="gate" default="gate_out"/><parallelGateway id="j1"/><parallelGateway id="j2"/><endEvent id="out"/>'
  || test.flows('start>fork', 'fork>a', 'fork>b', 'fork>c', 'a>j1', 'b>j2', 'c>gate', 'gate>out', 'j1>out', 'j2>out') || test.when('gate>j1', '${x == 1}') || test.when('gate>j2', '${x == 2}')) \gset
select test.start('pair', '{"x": 1}') as five \gset
select test.complete_next('a') as a, test.complete_next('b') as b, test.complete_next('c') as c \gset
select is(test.incidents(:'five') || test.standing(:'five'), '{"JoinStarved j2","j2 Waiting"}', 'one join fires and ends, the other starves');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
