-- Input and result schemas of tasks: what is offered, what is accepted, what is kept of the rest.
begin;
select plan(47);

create function pg_temp.answer(p_task jsonb, p_more jsonb) returns text language sql as $$
  select concat_ws(' ', c.outcome, c.instance_status, c.message) from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', p_task -> 'task_id', 'fencing_token', p_task -> 'fencing_token') || p_more)) c
$$;
create function pg_temp.claimed(p_type text) returns jsonb language sql as $$ select c.tasks -> 0 from bpm.claim_tasks_at('w', array[p_type]) c $$;

select lives_ok($$select * from bpm.publish_task('quote', p_input_schema => '{"required": ["amount"], "properties": {"amount": {"type": "number", "minimum": 0}}}',
  p_result_schema => '{"type": "object", "required": ["price"], "properties": {"price": {"type": "integer"}}, "additionalProperties": false}', p_max_attempts => 2)$$, 'a task with schemas');
select results_eq($$select * from bpm.publish_task('quote', p_input_schema => '{"required": ["amount"], "properties": {"amount": {"minimum": 0, "type": "number"}}}',
  p_result_schema => '{"type": "object", "required": ["price"], "properties": {"price": {"type": "integer"}}, "additionalProperties": false}', p_max_attempts => 2)$$, $$values (1, false)$$, 'the same schemas are the same');
select test.deploy('q', test.service('quote') || '<endEvent id="end"/>' || test.flows('start>quote', 'quote>end')) \gset
select results_eq($$select b.input_schema is not null, b.checks_result::boolean from bpm_core.workflow_task_binding b where b.task_type = 'quote'$$, $$values (true, true)$$, 'the binding knows');

-- input
select test.start('q', '{"amount": 5}') as a \gset
select is(test.standing(:'a'), '{"quote Waiting"}', 'what is valid is offered');
select test.start('q', '{"amount": -1}') as b \gset
select is(test.standing(:'b'), '{"quote Failed"}', 'what is not stops');
select results_eq(format('select i.code, i.message, i.detail from bpm.incident i where i.process_instance_id = %L', :'b'),
  $$values ('InputInvalid', 'Task quote: what it is given does not meet its input schema: /amount: must be at least 0.', '{"invalid": "/amount: must be at least 0"}'::jsonb)$$, 'with an incident that says what is wrong');
select is((select count(*)::integer from bpm.task t where t.process_instance_id = :'b'), 0, 'no task is offered');
select is(test.broken(), '{}', 'invariants hold');
select bpm.resolve_incident(i.incident_id) from bpm.incident i where i.process_instance_id = :'b' \gset
select is((select count(*)::integer from bpm.incident i where i.process_instance_id = :'b' and i.state = 'Open'), 1, 'resolved without a change it stops again');
select bpm.set_variables(:'b', '{"amount": 7}') \gset
select bpm.resolve_incident(i.incident_id) from bpm.incident i where i.process_instance_id = :'b' and i.state = 'Open' \gset
select test.tick() \gset
select is(test.standing(:'b'), '{"quote Waiting"}', 'after one it goes on');
select test.start('q', '{"amount": "__encrypted:abc"}') as e \gset
select is((select i.message from bpm.incident i where i.process_instance_id = :'e'), 'Task quote: what it is given does not meet its input schema: /amount: is encrypted, so it cannot be checked.', 'an encrypted value is not taken unchecked');

-- result
select pg_temp.claimed('quote') as t \gset
select is(pg_temp.answer(:'t', '{"variables": {"price": "3"}}'), 'Rejected Running The result does not meet the schema of its task, /price: must be of type integer, is string.', 'an invalid answer is rejected');
select is(pg_temp.answer(:'t', '{"variables": {"price": "3"}}'), 'Rejected Running The result does not meet the schema of its task, /price: must be of type integer, is string.', 'again, with the same answer');
select is(pg_temp.answer(:'t', '{"variables": {"price": 3}, "result": {"price": 3, "x": 1}}'), 'Rejected Running The result does not meet the schema of its task, /x: must not be there.', 'a result is checked instead of the variables');
select results_eq(format('select r.attempt, r.verdict, r.output, r.reasons, r.created_by from bpm.result r where r.task_id = %L order by r.created_at', :'t'::jsonb ->> 'task_id'),
  $$values (1, 'Rejected', '{"price": "3"}'::jsonb, '["/price: must be of type integer, is string"]'::jsonb, 'w'), (1, 'Rejected', '{"x": 1, "price": 3}', '["/x: must not be there"]', 'w')$$, 'both are kept, with the reasons');
select results_eq(format('select t.state, t.attempt, t.worker_id from bpm.task t where t.task_id = %L', :'t'::jsonb ->> 'task_id'), $$values ('Executing', 1, 'w')$$, 'the task stays with its worker');
select is((select v.variables from bpm.get_variables(:'a') v(variables)), '{"amount": 5}', 'nothing of it is applied');
select is(test.history(:'a'), '{"InstanceStarted 1"}', 'nor told as done');
select is((kit.raised(format('select * from bpm.complete_task(%L, %s, ''{"price": 1.5}'')', :'t'::jsonb ->> 'task_id', :'t'::jsonb ->> 'fencing_token'))) - 'hint' - 'detail',
  '{"code": "BP422", "message": "The result does not meet the schema of its task, /price: must be of type integer, is number."}', 'BP422 in the single form');
select is((select count(*)::integer from bpm.result r where r.task_id = (:'t'::jsonb ->> 'task_id')::uuid), 2, 'which keeps nothing, since it raises');
select is((select array_agg(c.outcome::text order by c.item) from bpm.complete_tasks(jsonb_build_array(
    jsonb_build_object('task_id', :'t'::jsonb -> 'task_id', 'fencing_token', :'t'::jsonb -> 'fencing_token', 'variables', '{"price": "9"}'::jsonb),
    jsonb_build_object('task_id', :'t'::jsonb -> 'task_id', 'fencing_token', :'t'::jsonb -> 'fencing_token', 'variables', '{"price": 9}'::jsonb))) c), '{Rejected,WrongState}', 'of two answers in one call the first counts');
select is(pg_temp.answer(:'t', '{"variables": {"price": 4}}'), 'Completed Completed', 'a valid answer of the same attempt is accepted');
select is(pg_temp.answer(:'t', '{"variables": {"price": 4}}'), 'Completed Completed', 'again, with the same answer');
select is(pg_temp.answer(:'t', '{"variables": {"price": 5}}'), 'Conflict Completed', 'another one is a conflict');
select is(pg_temp.answer(:'t', '{"variables": {"price": "3"}}'), 'Rejected Completed The result does not meet the schema of its task, /price: must be of type integer, is string.', 'the rejected one is rejected as before');
select is((select v.variables from bpm.get_variables(:'a') v(variables)), '{"amount": 5, "price": 4}', 'the valid one is applied');
select is(test.broken(), '{}', 'invariants hold');

-- the rest of the attempt
select pg_temp.claimed('quote') as t \gset
select count(pg_temp.answer(:'t', jsonb_build_object('variables', jsonb_build_object('price', 'x' || n)))) from generate_series(1, 15) n \gset
select is((select count(*)::integer from bpm.result r where r.task_id = (:'t'::jsonb ->> 'task_id')::uuid), 10, 'of an attempt ten are kept');
select is(pg_temp.answer(:'t', '{"variables": {"price": "x15"}}'), 'Rejected Running The result does not meet the schema of its task, /price: must be of type integer, is string.', 'the others are rejected, too');
select is(pg_temp.answer(:'t', '{"variables": {"price": "__encrypted:abc"}}'), 'Rejected Running The result does not meet the schema of its task, /price: is encrypted, so it cannot be checked.', 'an encrypted value is not taken unchecked');
select is((select f.outcome::text from bpm.fail_tasks(jsonb_build_array(jsonb_build_object('task_id', :'t'::jsonb -> 'task_id', 'fencing_token', :'t'::jsonb -> 'fencing_token', 'error', '"no price"'::jsonb, 'retry_in_seconds', 0))) f),
  'Retrying', 'its worker may fail it');
select is(pg_temp.answer(:'t', '{"variables": {"price": "x1"}}'), 'Rejected Running The result does not meet the schema of its task, /price: must be of type integer, is string.', 'a kept one has its answer then, too');
select is(pg_temp.answer(:'t', '{"variables": {"price": 1}}'), 'LeaseLost Running', 'a new one comes too late');
select pg_temp.claimed('quote') as u \gset
select is(pg_temp.answer(:'u', '{"variables": {"price": "__var:1:7"}}'), 'Completed Completed', 'the next attempt; encoded values are checked decoded');
select is(test.broken(), '{}', 'invariants hold');

-- what a drawing cannot have, and approvals, commands
select throws_like($$select test.deploy('s', '<sendTask id="quote"/><endEvent id="end"/>' || test.flows('start>quote', 'quote>end'))$$, '%a send task has no result%', 'a send task cannot have a result schema');
select is((select count(*)::integer from bpm.publish_task('letter', p_input_schema => '{"required": ["to"]}', p_approval_required => false)), 1, 'a send task can have an input schema');
select is((select count(*)::integer from bpm.register_destination('letter', p_config => '{"url": "http://localhost/"}')), 1, 'to somewhere');
select test.deploy('l', '<sendTask id="letter"/><endEvent id="end"/>' || test.flows('start>letter', 'letter>end')) \gset
select is(test.standing(test.start('l')), '{"letter Failed"}', 'which is checked before the command is written');
select is((select count(*)::integer from bpm.command), 0, 'so that none is');
select is(test.status(test.start('l', '{"to": "me"}')), 'Completed', 'and lets pass what is valid');
select is((select count(*)::integer from bpm.publish_task('gated', p_input_schema => '{"required": ["to"]}', p_approval_required => true)), 1, 'with approval');
select test.deploy('g', test.service('gated') || '<endEvent id="end"/>' || test.flows('start>gated', 'gated>end')) \gset
select test.start('g') as g \gset
select test.decide(:'g', 'Approved') \gset
select is((select i.code from bpm.incident i where i.process_instance_id = :'g'), 'InputInvalid', 'the input is checked when the task is offered');

-- people
select lives_ok($$select * from bpm.publish_task('sign', p_executor_kind => 'Human', p_result_schema => '{"required": ["signed"], "properties": {"signed": {"const": true}}}')$$, 'a task for people');
select test.deploy('h', '<userTask id="u" bpm:type="sign"/><endEvent id="end"/>' || test.flows('start>u', 'u>end')) \gset
select test.start('h') as h \gset
select is(kit.raised(format('select * from bpm.complete_user_task(%L, ''{"signed": false}'')', (select t.task_id from bpm.task t where t.process_instance_id = :'h'))) -> 'message',
  '"The result does not meet the schema of its task, /signed: must be true."', 'BP422 an answer that is not valid');
select is(test.complete_user(:'h', '{"signed": true}') is not null and test.status(:'h') = 'Completed', true, 'a valid one');

-- migration
select is(test.broken(), '{}', 'invariants hold');
select * from finish();
rollback;
