-- Exclusive gateway: the first flow that is true, the default last; what cannot be decided is an incident, never false.
begin;
select plan(30);
select test.deploy('route', '<exclusiveGateway id="gate" default="gate_rest"/>' || test.service('big') || test.service('small') || test.service('rest') || '<endEvent id="end"/>'
  || test.when('gate>big', '${amount > 1000}') || test.when('gate>small', '${amount > 10}') || test.flows('gate>rest')
  || test.flows('start>gate', 'big>end', 'small>end', 'rest>end')) \gset
create function pg_temp.goes(p_code text, p_variables jsonb) returns text language sql as
$$ select array_to_string(test.standing(test.start(p_code, p_variables)), ',') $$;

select is(pg_temp.goes('route', '{"amount": 5000}'), 'big Waiting', 'the first true flow in document order');
select is(pg_temp.goes('route', '{"amount": 100}'), 'small Waiting', 'the next when the first is false');
select is(pg_temp.goes('route', '{"amount": 1}'), 'rest Waiting', 'the default when none is true');
select is(pg_temp.goes('route', '{}'), 'gate Failed', 'a missing value cannot be ordered: the default is not taken for it');
select is(pg_temp.goes('route', '{"amount": "5000"}'), 'gate Failed', 'nor can a text be');

-- What history and incident tell
select test.start('route', '{"amount": 100}') as a \gset
select is((select h.node_id || ' ' || h.detail from bpm.get_history(:'a') h where h.kind = 'FlowChosen'), 'gate {"flow": "gate_small"}', 'history tells which flow');
select test.start('route', '{"amount": "many", "note": "n"}') as b \gset
select is(test.incidents(:'b'), '{"ConditionUndecidable gate"}', 'undecidable: an incident');
select is((select i.detail - 'seen' from bpm.incident i where i.process_instance_id = :'b'), '{"gateway": "gate", "flow": "gate_big", "condition": "${amount > 1000}"}'::jsonb, 'that names gateway, flow and condition');
select ok((select i.detail ->> 'seen' ~ 'amount' and i.detail ->> 'seen' ~ 'many' and i.detail ->> 'seen' ~ 'string' from bpm.incident i where i.process_instance_id = :'b'), 'with path, value and type seen');
select ok((select i.message ~ 'gate' and i.message ~ 'amount > 1000' and i.message ~ 'gate_big' from bpm.incident i where i.process_instance_id = :'b'), 'in words, too');
select is(test.history(:'b'), '{"InstanceStarted 1","IncidentOpened 1"}', 'no flow was chosen');
select is(test.status(:'b'), 'Running', 'the instance stays Running');

-- Undecidable behind a true one does not matter, before it does
select test.deploy('lazy', '<exclusiveGateway id="gate" default="gate_rest"/>' || test.service('one') || test.service('two') || test.service('rest') || '<endEvent id="end"/>'
  || test.when('gate>one', '${go == true}') || test.when('gate>two', '${missing > 1}') || test.flows('gate>rest', 'start>gate', 'one>end', 'two>end', 'rest>end')) \gset
select is(pg_temp.goes('lazy', '{"go": true}'), 'one Waiting', 'the first true one wins before an undecidable one is looked at');
select is(pg_temp.goes('lazy', '{"go": false}'), 'gate Failed', 'an undecidable one stops the token before the default');
select is(pg_temp.goes('lazy', '{"go": false, "missing": 2}'), 'two Waiting', 'decidable, it is taken');

-- No default (C06)
select test.deploy('strict', '<exclusiveGateway id="gate"/>' || test.service('yes') || test.service('no') || '<endEvent id="end"/>'
  || test.when('gate>yes', '${status == "APPROVED"}') || test.when('gate>no', '${status == "REJECTED"}') || test.flows('start>gate', 'yes>end', 'no>end')) \gset
select test.start('strict', '{"status": "approved"}') as c \gset
select is(test.incidents(:'c'), '{"NoFlowTrue gate"}', 'none true and no default: an incident');
select is((select i.detail -> 'gateway' || jsonb_path_query_array(i.detail, '$.flows[*].flow') || jsonb_path_query_array(i.detail, '$.flows[*].condition') from bpm.incident i where i.process_instance_id = :'c'),
          '["gate", "gate_yes", "gate_no", "${status == \"APPROVED\"}", "${status == \"REJECTED\"}"]'::jsonb, 'that names gateway, flows and conditions');
select is((select count(*) from bpm.incident i cross join lateral jsonb_array_elements(i.detail -> 'flows') f where i.process_instance_id = :'c' and f ->> 'seen' ~ 'approved'), 2::bigint, 'with the value each saw');
select is(pg_temp.goes('strict', '{}'), 'gate Failed', 'a missing value equals nothing: no flow is true');
select is((select i.code from bpm.incident i order by i.incident_id desc limit 1), 'NoFlowTrue', 'and that is decidable');

-- The default's own condition is ignored (C05)
select test.deploy('default', '<exclusiveGateway id="gate" default="gate_rest"/>' || test.service('one') || test.service('rest') || '<endEvent id="end"/>'
  || test.when('gate>one', '${x == 1}') || test.when('gate>rest', '${x == 2}') || test.flows('start>gate', 'one>end', 'rest>end')) \gset
select is(pg_temp.goes('default', '{"x": 3}'), 'rest Waiting', 'the default is taken though its own condition is false');
select is(pg_temp.goes('default', '{"x": 1}'), 'one Waiting', 'and only when no other is true');
select test.deploy('drawn_first', '<exclusiveGateway id="gate" default="gate_rest"/>' || test.service('one') || test.service('rest') || '<endEvent id="end"/>'
  || test.flows('gate>rest', 'start>gate') || test.when('gate>one', '${x == 1}') || test.flows('one>end', 'rest>end')) \gset
select is(pg_temp.goes('drawn_first', '{"x": 1}'), 'one Waiting', 'wherever it is drawn');
select test.deploy('single', '<exclusiveGateway id="gate"/>' || test.service('one') || '<endEvent id="end"/>' || test.when('gate>one', '${x == 1}') || test.flows('start>gate', 'one>end')) \gset
select is(pg_temp.goes('single', '{"x": 2}'), 'gate Failed', 'a single conditional flow that is false: no flow');
select is((select i.code from bpm.incident i order by i.incident_id desc limit 1), 'NoFlowTrue', 'an incident');
select is(pg_temp.goes('single', '{"x": 1}'), 'one Waiting', 'true: taken');

-- Variables of the step before are seen
select test.deploy('after', test.service('ask') || '<exclusiveGateway id="gate" default="gate_b"/>' || test.service('a') || test.service('b') || '<endEvent id="end"/>'
  || test.flows('start>ask', 'ask>gate', 'a>end', 'b>end') || test.when('gate>a', '${answer == "yes"}') || test.flows('gate>b')) \gset
select test.start('after', '{"answer": "no"}') as d \gset
select test.complete_next('ask', '{"answer": "yes"}') as done \gset
select is(test.standing(:'d'), '{"a Waiting"}', 'the patch of the step before is decided by');

-- A batch of instances at one gateway: each by its own variables
select s.item, s.process_instance_id into temp batch from bpm.start_processes((select jsonb_agg(jsonb_build_object('code', 'route', 'variables', v.variables) order by v.n)
  from (values (1, '{"amount": 2000}'::jsonb), (2, '{"amount": 1}'), (3, '{}'), (4, '{"amount": 20}')) v(n, variables))) s;
select is((select array_agg(array_to_string(test.standing(b.process_instance_id), ',') order by b.item) from batch b), '{"big Waiting","rest Waiting","gate Failed","small Waiting"}', 'one that stops does not stop the others');

-- Merges and gateways with one way pass through
select test.deploy('merging', '<exclusiveGateway id="gate" default="gate_right"/>' || test.service('left') || test.service('right') || '<exclusiveGateway id="merge"/>' || test.service('last') || '<endEvent id="end"/>'
  || test.flows('start>gate') || test.when('gate>left', '${x == 1}') || test.flows('gate>right', 'left>merge', 'right>merge', 'merge>last', 'last>end')) \gset
select test.start('merging', '{"x": 1}') as e \gset
select test.complete_next('left') as done \gset
select is(test.standing(:'e') || test.history(:'e', 'TokenMoved'), '{"last Waiting","TokenMoved 1"}', 'a merge lets each token through');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
