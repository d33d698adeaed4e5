-- A token that does not rest is parked after the step budget; tick goes on with it; past the loop budget it is an incident (C24).
begin;
select plan(24);
select bpm.set_setting('engine.loop_budget', '3000') is not null as set \gset

-- A loop of gateways and manual tasks without an end
select test.deploy('endless', '<exclusiveGateway id="again" default="again_out"/><manualTask id="step"/><exclusiveGateway id="enter"/><endEvent id="out"/>'
  || test.flows('start>enter', 'enter>step', 'step>again', 'again>out') || test.when('again>enter', '${stop != true}')) \gset
select test.start('endless') as e \gset
select is(test.standing(:'e')::text ~ '^{"[a-z]+ Ready"}$', true, 'the start comes back with the token parked');
select is((select t.steps || ' ' || (t.ready_at is not null) from bpm_core.token t where t.workflow_instance_id = test.workflow(:'e')), '1000 true', 'after 1000 hops');
select is(test.history(:'e', 'TokenParked'), '{"TokenParked 1"}', 'history says so');
select is(test.incidents(:'e'), '{}', 'no incident yet');
select is(test.tick('tokens'), 1, 'tick goes on with it');
select is((select t.steps from bpm_core.token t where t.workflow_instance_id = test.workflow(:'e')), 2000, 'another 1000');
select is(test.tick('tokens'), 1, 'and again');
select is((select i.code || ' ' || (i.detail ->> 'steps') from bpm.incident i where i.process_instance_id = :'e'), 'LoopBudget 3000', 'past the loop budget: an incident');
select is(test.standing(:'e')::text ~ '^{"[a-z]+ Failed"}$', true, 'the token is stopped');
select is(test.tick('tokens'), 0, 'and left alone');
select is(bpm.run_until_idle(), 0, 'nothing is due');

-- Resolved without a cure, then with one
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'e' \gset
select is(test.standing(:'e')::text ~ '^{"[a-z]+ Ready"}$', true, 'resolved: it goes on with a fresh budget');
select bpm.run_until_idle() as ticks \gset
select is((select array_agg(i.code || i.state order by i.created_at) from bpm.incident i where i.process_instance_id = :'e'), '{LoopBudgetResolved,LoopBudgetOpen}', 'until it is used up again');
select bpm.set_variables(:'e', '{"stop": true}') is not null as mended \gset
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'e' and i.state = 'Open' \gset
select is(test.status(:'e'), 'Completed', 'mended: it ends');

-- A loop that forks and joins, or sheds a token, in every turn is no way round
select bpm.set_setting('engine.loop_budget', '2000') is not null as set \gset
select test.deploy('forking', '<exclusiveGateway id="enter"/><parallelGateway id="fork"/><manualTask id="a"/><manualTask id="b"/><parallelGateway id="join"/><exclusiveGateway id="again" default="again_out"/><endEvent id="out"/>'
  || test.flows('start>enter', 'enter>fork', 'fork>a', 'fork>b', 'a>join', 'b>join', 'join>again', 'again>out') || test.when('again>enter', '${stop != true}')) \gset
select test.start('forking') as f \gset
select test.tick('tokens') as done \gset
select is((select array_agg(distinct i.code) from bpm.incident i where i.process_instance_id = :'f'), '{LoopBudget}', 'a loop through fork and join meets the budget, too');
select bpm.cancel_process(:'f') is not null as cancelled \gset
select test.deploy('shedding', '<exclusiveGateway id="enter"/><parallelGateway id="fork"/><manualTask id="a"/><endEvent id="out"/>'
  || test.flows('start>enter', 'enter>fork', 'fork>a', 'fork>out', 'a>enter')) \gset
select test.start('shedding') as s \gset
select test.tick('tokens') as done \gset
select ok('LoopBudget a' = any (test.incidents(:'s')), 'so does one that sheds a token in every turn');
select bpm.cancel_process(:'s') is not null as cancelled \gset

select bpm.set_setting('engine.loop_budget', '3000') is not null as set \gset

-- A long loop that ends is carried through by tick; a rest gives a fresh budget
select test.deploy('long', '<exclusiveGateway id="again"/><manualTask id="step"/><exclusiveGateway id="enter"/>' || test.service('rest') || '<endEvent id="out"/>'
  || test.flows('start>enter', 'enter>step', 'step>again', 'rest>out') || test.when('again>enter', '${stop != true}') || test.when('again>rest', '${stop == true}')) \gset
select test.start('long') as l \gset
select test.tick('tokens') as t1 \gset
select bpm.set_variables(:'l', '{"stop": true}') is not null as mended \gset
select is(test.tick('tokens') || test.standing(:'l')::text, '1{"rest Waiting"}', 'a loop that ends within the budget rests at its task');
select is((select t.steps || ' ' || t.visit from bpm_core.token t where t.workflow_instance_id = test.workflow(:'l')), '0 1', 'with a fresh budget');
select is(bpm_core.resume_tokens('', array(select t.id from bpm_core.token t where t.workflow_instance_id = test.workflow(:'l'))) || test.standing(:'l')::text, '0{"rest Waiting"}', 'one that is not parked is not resumed: whoever was first has it');
select test.complete_next('rest') as done \gset
select is(test.status(:'l'), 'Completed', 'and ends');

-- Parked tokens belong to an instance like all others
select test.start('endless') as c \gset
select bpm.cancel_process(:'c') is not null as cancelled \gset
select is(test.status(:'c') || test.standing(:'c')::text, 'Cancelled{}', 'cancelling takes a parked token along');
select is(test.tick('tokens'), 0, 'which is not resumed');

-- Many parked, a batch at a time
select count(s.*) as started from bpm.start_processes((select jsonb_agg('{"code": "endless", "variables": {"stop": false}}'::jsonb) from generate_series(1, 5))) s \gset
select count(bpm.set_variables(i.process_instance_id, '{"stop": true}')) as told from bpm.instance i where i.status = 'Running' and i.process_code = (select x.process_code from bpm.instance x where x.process_instance_id = :'e') \gset
select is(test.tick('tokens', 2) || ' ' || test.tick('tokens', 2) || ' ' || test.tick('tokens', 2) || ' ' || test.tick('tokens', 2), '2 2 1 0', 'a batch at a time, each once');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
