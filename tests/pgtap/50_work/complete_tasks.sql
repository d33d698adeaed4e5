-- bpm.complete_tasks: answers of a batch, each with its outcome; patches of one instance merge in item order.
begin;
select plan(61);
select bpm.deploy_bpmn(test.linear('two', 'first', 'second')) is not null as deployed \gset
select test.deploy('wide',
  test.service('x') || test.service('y') || test.service('z') || '<parallelGateway id="fork"/><parallelGateway id="join"/>' || test.service('after')
  || '<endEvent id="end"/>'
  || test.flows('start>fork', 'fork>x', 'fork>y', 'fork>z', 'x>join', 'y>join', 'z>join', 'join>after', 'after>end')) \gset

-- One step: what is written
select test.start('two', '{"keep": 1, "change": 1}') as a \gset
select c.tasks from bpm.claim_tasks_at('w1', '{first}') c \gset a_
select w.lock_version as before from bpm_core.workflow_instance w where w.id = test.workflow(:'a') \gset
select c.* from bpm.complete_tasks(test.items(:'a_tasks', '{"variables": {"change": 2, "new": "__var:1:[3]"}, "result": {"receipt": 7}}')) c \gset d_
select is(:'d_item' || :'d_task_id' || :'d_outcome' || :'d_instance_status', '1' || (:'a_tasks'::jsonb #>> '{0,task_id}') || 'CompletedRunning', 'completed');
select is(bpm.get_variables(:'a'), '{"keep": 1, "change": 2, "new": [3]}'::jsonb, 'only the keys named are patched, decoded');
select is((select t.state || ' ' || t.attempt from bpm.task t where t.task_id = :'d_task_id'), 'Completed 1', 'the task is Completed');
select is((select e.state || ' ' || e.outcome || ' ' || e.worker_id || ' ' || e.attempt || ' ' || e.fencing_token from bpm.execution e where e.task_id = :'d_task_id'),
          'Succeeded Completed w1 1 1', 'its attempt succeeded');
select is((select concat_ws(' ', r.output, r.verdict, r.created_by) from bpm_core.result r where r.task_instance_id = :'d_task_id'), '{"receipt": 7} Accepted w1', 'its result is kept');
select is((select h.actor || ' ' || h.node_id || ' ' || (h.detail - 'task') from bpm.get_history(:'a') h where h.kind = 'TaskCompleted'),
          'w1 first {"attempt": 1, "variables": {"new": [3], "change": 2}}', 'one row of history, with the patch');
select is(test.standing(:'a'), '{"second Waiting"}', 'the token went on');
select is((select count(*) from bpm.task t where t.process_instance_id = :'a' and t.state = 'Ready' and t.node_id = 'second'), 1::bigint, 'where the next task is offered');
select is((select w.lock_version from bpm_core.workflow_instance w where w.id = test.workflow(:'a')), :before + 1, 'the instance is written once');

-- Repeats (A-11)
select is((select c.outcome::text from bpm.complete_tasks(test.items(:'a_tasks', '{"result": {"receipt": 7}, "variables": {"new": "__var:1:[3]", "change": 2}}')) c), 'Completed',
          'an unchanged repeat gets the first answer');
select is((select c.outcome::text from bpm.complete_tasks(test.items(:'a_tasks', '{"variables": {"change": 3}}')) c), 'Conflict', 'other variables are a conflict');
select is((select c.outcome::text from bpm.complete_tasks(test.items(:'a_tasks', '{"variables": {"change": 2, "new": "__var:1:[3]"}, "result": 8}')) c), 'Conflict', 'so is another result');
select is(bpm.get_variables(:'a'), '{"keep": 1, "change": 2, "new": [3]}'::jsonb, 'and neither changes anything');
select is((select array_agg(x order by x) from unnest(test.history(:'a')) x), '{"InstanceStarted 1","TaskCompleted 1"}', 'no second move');
select is((select w.lock_version from bpm_core.workflow_instance w where w.id = test.workflow(:'a')), :before + 1, 'nor a second write');
select test.complete_next('second') is not null as done \gset
select is((select c.outcome || ' ' || c.instance_status from bpm.complete_tasks(test.items(:'a_tasks', '{"result": {"receipt": 7}, "variables": {"new": "__var:1:[3]", "change": 2}}')) c), 'Completed Completed',
          'a repeat after the end tells that it has ended');

-- A result, or the variables where there is none
select test.start('two') as b \gset
select test.complete_next('first', '{"v": 1}') as b_task \gset
select is((select r.output from bpm_core.result r where r.task_instance_id = :'b_task'), '{"v": 1}'::jsonb, 'without a result the variables are it');

-- Who has lost
select test.start('two') as stale, test.start('two') as late, test.start('two') as gone, test.start('two') as failed, test.start('two') as ready \gset
select c.tasks from bpm.claim_tasks_at('w1', '{first}', 4, interval '1 minute') c \gset l_
select bpm.fail_tasks(test.items(jsonb_path_query_array(:'l_tasks', '$[3]'), '{"retryable": false}')) is not null as failed_it \gset
select bpm.cancel_process(:'gone') is not null as cancelled \gset
select is((select array_agg(c.outcome::text order by c.item) from bpm.complete_tasks(
             (select jsonb_agg(jsonb_set(i, '{fencing_token}', '0')) from jsonb_array_elements(test.items(:'l_tasks')) i)) c), '{LeaseLost,LeaseLost,Cancelled,LeaseLost}', 'a fence that was never given');
select bpm.advance_clock(interval '2 minutes') is not null as moved \gset
select is((select array_agg(c.outcome::text order by c.item) from bpm.complete_tasks(test.items(:'l_tasks')) c), '{LeaseLost,LeaseLost,Cancelled,WrongState}',
          'lease ran out, not yet reaped; cancelled; failed for good');
select test.tick('leases') as reaped \gset
select is((select c.outcome::text from bpm.complete_tasks(test.items(jsonb_path_query_array(:'l_tasks', '$[0]'))) c), 'LeaseLost', 'lease ran out and reaped');
select bpm.advance_clock(interval '1 minute') is not null as moved \gset
select c.tasks from bpm.claim_tasks_at('w1', '{first}', 10) c \gset n_
select is(jsonb_array_length(:'n_tasks'), 3, 'the two that were reaped and the one that was never claimed are handed out');
select is((select c.outcome::text from bpm.complete_tasks(test.items(jsonb_path_query_array(:'l_tasks', '$[0]'))) c), 'LeaseLost', 'the same worker under its old fence (A-02)');
-- The late answer and the right one in one call
select is((select array_agg(c.outcome::text order by c.item) from bpm.complete_tasks(
             (select jsonb_agg(i order by (i ->> 'fencing_token')::bigint)
                from jsonb_array_elements(test.items(:'l_tasks', '{"variables": {"who": "old"}}') || test.items(:'n_tasks', '{"variables": {"who": "new"}}')) i
               where i ->> 'task_id' in (:'l_tasks'::jsonb #>> '{0,task_id}'))) c), '{LeaseLost,Completed}', 'a late answer in the same call does not stand in the way of the right one');
select is(bpm.get_variables(:'stale') || bpm.get_variables(:'late'), '{"who": "new"}'::jsonb, 'and only the right one counts');
select is((select array_agg(c.outcome::text) from bpm.complete_tasks('[{"task_id": "00000000-0000-7000-8000-000000000001", "fencing_token": 1}]') c), '{NotFound}', 'a task that is not there');
select is((select c.instance_status from bpm.complete_tasks('[{"task_id": "00000000-0000-7000-8000-000000000001", "fencing_token": 1}]') c), null, 'has no instance');

-- Refused variables
select test.start('two') as r1, test.start('two') as r2 \gset
select c.tasks from bpm.claim_tasks_at('w1', '{first}', 10) c \gset r_
select is((select array_agg(c.outcome::text order by c.item) from bpm.complete_tasks(
             test.items(jsonb_path_query_array(:'r_tasks', '$[0]'), '{"variables": [1]}') || test.items(jsonb_path_query_array(:'r_tasks', '$[0]'), '{"variables": {"a": "__encrypt:x"}}')
             || test.items(jsonb_path_query_array(:'r_tasks', '$[0]'), '{"variables": "text"}')) c), '{Rejected,Rejected,Rejected}', 'variables we do not take');
select is((select c.outcome::text from bpm.complete_tasks(jsonb_set(test.items(jsonb_path_query_array(:'r_tasks', '$[0]'), '{}'), '{0,result}', to_jsonb(repeat('x', 1100000)))) c),
  'Rejected', 'nor a result larger than variables may be');
select throws_ok(format('select * from bpm.complete_task(%L, %s, p_result => to_jsonb(repeat(''x'', 1100000)))', :'r_tasks'::jsonb #>> '{0,task_id}', :'r_tasks'::jsonb #>> '{0,fencing_token}'),
  'BP422', 'A result of 1100002 bytes exceeds the limit of 1048576 bytes.', 'the single form says why');
select is((select t.state from bpm.task t where t.task_id = (:'r_tasks'::jsonb #>> '{0,task_id}')::uuid), 'Executing', 'leave the lease as it is');
select is((select array_agg(c.outcome::text order by c.item) from bpm.complete_tasks(
             test.items(jsonb_path_query_array(:'r_tasks', '$[0]'), '{"variables": 5}') || test.items(jsonb_path_query_array(:'r_tasks', '$[0]'), '{"variables": null}')) c), '{Rejected,Completed}',
          'so that the right answer is still taken; null variables are none');

-- The same task twice in one call
select is((select array_agg(c.outcome::text order by c.item) from bpm.complete_tasks(
             test.items(jsonb_path_query_array(:'r_tasks', '$[1]'), '{"variables": {"o": 1}}') || test.items(jsonb_path_query_array(:'r_tasks', '$[1]'), '{"variables": {"o": 2}}')
             || test.items(jsonb_path_query_array(:'r_tasks', '$[1]'), '{"variables": {"o": 1}}')) c), '{Completed,Conflict,Completed}', 'the first answer stands, another is a conflict, a repeat is none');

-- Several branches of one instance in one call (A-27)
select test.start('wide', '{"o": 0}') as w \gset
select c.tasks from bpm.claim_tasks_at('w1', '{z,x,y}', 3) c \gset w_
select w.lock_version as before from bpm_core.workflow_instance w where w.id = test.workflow(:'w') \gset
create temp table branch as
select c.* from bpm.complete_tasks((
  select jsonb_agg(i.item || jsonb_build_object('variables', jsonb_build_object('o', n.o, 'only_' || n.o, true)) order by n.o)
    from jsonb_array_elements(test.items(:'w_tasks')) with ordinality i(item, k)
    join (values (1, 3), (2, 1), (3, 2)) n(k, o) on n.k = i.k)) c;
select is((select array_agg(b.outcome || ' ' || b.instance_status order by b.item) from branch b), '{"Completed Running","Completed Running","Completed Running"}', 'all three branches complete');
select is(bpm.get_variables(:'w'), '{"o": 3, "only_1": true, "only_2": true, "only_3": true}'::jsonb, 'all patches are kept; of the same key the last item''s');
select is((select array_agg(x order by x) from unnest(test.history(:'w', 'Join%')) x), '{"JoinFired 1","JoinReached 3"}', 'the join fires once');
select is(test.standing(:'w'), '{"after Waiting"}', 'one token goes on');
select is((select w.live_tokens::integer from bpm_core.workflow_instance w where w.id = test.workflow(:'w')), 1, 'and one is counted');
select is((select w.lock_version from bpm_core.workflow_instance w where w.id = test.workflow(:'w')), :before + 1, 'the instance is written once for all of them');
select is((select array_agg(h.detail #> '{variables,o}' order by h.seq) from bpm.get_history(:'w') h where h.kind = 'TaskCompleted'), '{1,2,3}'::jsonb[], 'history has the patches in item order');

-- Many instances in one call
select count(test.start('two', jsonb_build_object('n', n))) as started from generate_series(1, 1000) n \gset
select c.tasks from bpm.claim_tasks_at('w1', '{first}', 1000) c \gset m_
select is((select count(*) from bpm.complete_tasks(test.items(:'m_tasks', '{"variables": {"done": true}}')) c where c.outcome = 'Completed'), 1000::bigint, '1000 items are taken');
select is((select count(*) from bpm.instance i where i.variables @> '{"done": true}' and i.variables ? 'n'), 1000::bigint, 'each instance gets its patch');
select is((select count(distinct t.workflow_instance_id) from bpm_core.task_instance t join bpm_core.workflow_instance w on w.id = t.workflow_instance_id
            where t.node_id = 'second' and t.state = 'Ready' and w.variables @> '{"done": true}'), 1000::bigint, 'and its next task');

-- The end of an instance
select test.start('wide') as e \gset
select c.tasks from bpm.claim_tasks_at('w1', '{z,x,y}', 3) c \gset e_
select count(*) as done from bpm.complete_tasks(test.items(:'e_tasks')) \gset
select c.tasks from bpm.claim_tasks_at('w1', '{after}', 10) c \gset e_
select is((select array_agg(c.outcome || ' ' || c.instance_status) from bpm.complete_tasks(test.items(:'e_tasks')) c), '{"Completed Completed","Completed Completed"}', 'the last task ends its instance');
select is((select i.status || ' ' || i.live_tokens || ' ' || (i.ended_at is not null) from bpm.instance i where i.process_instance_id = :'e'), 'Completed 0 true', 'which is Completed, with no token left');
select is((select array_agg(h.kind || coalesce(' ' || h.to_state, '') order by h.seq desc) from (select h.* from bpm.get_history(:'e') h order by h.seq desc limit 2) h),
          '{"InstanceCompleted Completed","TokenCompleted Completed"}', 'as the last of its history says');

-- Ill-formed calls change nothing
select test.start('two') as bad \gset
select c.task_id as bad_task, c.fencing_token as bad_fence from bpm.claim_tasks('w1', '{first}') c \gset
select throws_ok($$select * from bpm.complete_tasks(null)$$, 'BP400', null, 'no items');
select throws_ok($$select * from bpm.complete_tasks('{}')$$, 'BP400', null, 'an object instead of an array');
select throws_ok($$select * from bpm.complete_tasks('[7]')$$, 'BP400', null, 'an item that is no object');
select throws_ok($$select * from bpm.complete_tasks('[{"fencing_token": 1}]')$$, 'BP400', null, 'no task');
select throws_ok($$select * from bpm.complete_tasks('[{"task_id": "x", "fencing_token": 1}]')$$, 'BP400', null, 'a task id that is no uuid');
select throws_ok(format('select * from bpm.complete_tasks(''[{"task_id": "%s"}]'')', :'bad_task'), 'BP400', null, 'no fence');
select throws_ok(format('select * from bpm.complete_tasks(''[{"task_id": "%s", "fencing_token": "1"}]'')', :'bad_task'), 'BP400', null, 'a fence that is text');
select throws_ok(format('select * from bpm.complete_tasks(''[{"task_id": "%s", "fencing_token": 1.5}]'')', :'bad_task'), 'BP400', null, 'a fence that is no whole number');
select throws_ok(format('select * from bpm.complete_tasks(''[{"task_id": "%s", "fencing_token": 1, "variabels": {}}]'')', :'bad_task'), 'BP400', null, 'an unknown key');
select throws_ok(format('select * from bpm.complete_tasks((select jsonb_agg(''{"task_id": "%s", "fencing_token": 1}''::jsonb) from generate_series(1, 1001)))', :'bad_task'), 'BP429', null, '1001 items');
select throws_ok($$select * from bpm.complete_tasks('[]', 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select is((select count(*) from bpm.complete_tasks('[]')), 0::bigint, 'no items, no rows');
select is((select t.state from bpm.task t where t.task_id = :'bad_task'), 'Executing', 'nothing was changed by them');
select test.start('two') as huge \g /dev/null
select c.tasks from bpm.claim_tasks_at('w1', '{first}') c \gset huge_
select is((select c.outcome || ': ' || c.message from bpm.complete_tasks(test.items(:'huge_tasks', jsonb_build_object(x.key, ('{"a": [' || rtrim(repeat('1e131071,', 9000), ',') || ']}')::jsonb))) c),
          'Rejected: ' || x.says || ' a number of more than 1,000 digits.', x.key || ' that has no text is refused')
  from (values ('variables', 'Variables hold'), ('result', 'A result holds')) x(key, says);
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
