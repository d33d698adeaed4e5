-- Terminate end: takes every other token of its instance with it; the instance is Completed.
begin;
select plan(15);
select test.deploy('stop', test.service('a') || test.service('b') || test.service('c', 'bpm:retries="1"') || '<userTask id="u"/>' || test.timer('t', '<timeDuration>PT1H</timeDuration>')
  || '<intermediateCatchEvent id="m"><messageEventDefinition messageRef="msg"/></intermediateCatchEvent><parallelGateway id="fork"/><parallelGateway id="join"/><endEvent id="halt"><terminateEventDefinition/></endEvent><endEvent id="end"/>'
  || test.flows('start>fork', 'fork>a', 'fork>b', 'fork>c', 'fork>u', 'fork>t', 'fork>m', 'a>halt', 'b>join', 'c>join', 'u>end', 't>end', 'm>end', 'join>end'), '<message id="msg" name="go"/>') \gset
select test.start('stop', '{}', 'S-1') as a \gset
select test.complete_next('b') as b \gset
select test.fail_next('c') as c \gset
select is(test.standing(:'a'), '{"a Waiting","c Failed","join Waiting","m Waiting","t Waiting","u Waiting"}', 'six tokens, in every state of waiting');
select test.complete_next('a', '{"done": true}') as done \gset
select is(test.status(:'a') || (select i.live_tokens || ' ' || (i.ended_at is not null) from bpm.instance i where i.process_instance_id = :'a'), 'Completed0 true', 'the instance is Completed, with no token left');
select is((select array_agg(t.node_id || ' ' || t.state order by t.node_id) from bpm_core.token t where t.workflow_instance_id = test.workflow(:'a') and t.state <> 'Completed'), '{"c Terminated","join Terminated","m Terminated","t Terminated","u Terminated"}', 'the others are terminated where they stood');
select is((select array_agg(t.node_id || ' ' || t.state order by t.node_id) from bpm.task t where t.process_instance_id = :'a'), '{"a Completed","b Completed","c Cancelled","u Cancelled"}', 'their tasks are closed');
select is((select array_agg(t.status) from bpm.timer t where t.process_instance_id = :'a'), '{Cancelled}', 'timers');
select is((select array_agg(s.state::text) from bpm_core.subscription s where s.workflow_instance_id = test.workflow(:'a')), '{Closed}', 'waits');
select is(test.incidents(:'a') || (select array_agg(d.state) from bpm.dead_letter d where d.process_instance_id = :'a'), '{Discarded}', 'incidents and dead letters');
select is((select array_agg(h.kind order by h.seq desc) from (select h.* from bpm.get_history(:'a') h where h.kind like 'Instance%') h), '{InstanceCompleted,InstanceStarted}', 'history ends with the instance');
select is((select count(*) from bpm.get_history(:'a') h where h.kind = 'TokenTerminated'), 5::bigint, 'and tells of each token');
select is(bpm.get_variables(:'a'), '{"done": true}'::jsonb, 'the last answer counts');

-- In the same command, and the same hop, as others
select test.deploy('race', '<parallelGateway id="fork"/><manualTask id="x"/><manualTask id="y"/>' || test.service('z') || '<endEvent id="halt"><terminateEventDefinition/></endEvent><endEvent id="halt2"><terminateEventDefinition/></endEvent><endEvent id="end"/>'
  || test.flows('start>fork', 'fork>x', 'fork>y', 'fork>z', 'x>halt', 'y>halt2', 'z>end')) \gset
select test.start('race') as b \gset
select is(test.status(:'b') || (select count(*) from bpm.task t where t.process_instance_id = :'b' and t.state <> 'Cancelled'), 'Completed0', 'two arrive at once; nothing opened in the same command stays');
select is((select count(*) from bpm.get_history(:'b') h where h.kind = 'InstanceCompleted'), 1::bigint, 'it ends once');
select test.deploy('deep', '<parallelGateway id="fork"/><manualTask id="x"/><manualTask id="y"/><manualTask id="y2"/>' || test.service('late') || '<endEvent id="halt"><terminateEventDefinition/></endEvent><endEvent id="end"/>'
  || test.flows('start>fork', 'fork>x', 'fork>y', 'x>halt', 'y>y2', 'y2>late', 'late>end')) \gset
select test.start('deep') as c \gset
select is(test.status(:'c') || test.history(:'c', 'Task%')::text, 'Completed{}', 'a victim on its way does not arrive');

-- Others live on
select test.start('stop', '{}', 'S-2') as d, test.start('stop', '{}', 'S-3') as e \gset
select c.tasks from bpm.claim_tasks_at('w', '{a}', 1) c \gset
select count(*) as done from bpm.complete_tasks(test.items(:'tasks')) \gset
select is(test.status(:'d') || test.status(:'e') || cardinality(test.standing(:'e')), 'CompletedRunning6', 'another instance is not touched');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
