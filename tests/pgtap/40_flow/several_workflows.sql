-- Processes that run several workflows: which begin when, what they pass on, how the process ends.
begin;
select plan(51);
select test.single_steps('pick', 'pack', 'bill', 'ship');
select test.several('order', '[{"key": "pick"}, {"key": "bill"}, {"key": "pack", "depends_on": ["pick"]}, {"key": "ship", "depends_on": ["pack", "bill"], "condition": "${total > 10}"}]');

-- The whole way
select s.process_instance_id as p, s.workflow_instance_id as w, s.status, s.is_new from bpm.start_process('order', '{"total": 20}', 'K-1', 'idem-1') s \gset
select is(:'status' || :'is_new', 'Runningt', 'it runs');
select is(test.workflows(:'p'), '{pick Running,bill Running}', 'those that depend on nothing have begun, the others have not');
select is(:'w', test.workflow_of(:'p', 'pick'), 'the answer names the first');
select is((select count(*) from bpm_core.token), 2::bigint, 'each with a token');
select is((select i.workflow_instance_id::text || i.live_tokens || i.variables::text from bpm.instance i where i.process_instance_id = :'p'), null, 'there is no one workflow');
select is((select i.live_tokens || ' ' || i.variables::text || ' ' || i.business_key from bpm.instance i where i.process_instance_id = :'p'), '2 {"total": 20} K-1', 'its row in bpm.instance');
select is((select s.process_instance_id::text || s.workflow_instance_id::text || s.is_new from bpm.start_process('order', '{"total": 20}', 'K-1', 'idem-1') s), :'p' || :'w' || 'false',
          'repeated: the first answer');
select is(test.broken(), '{}', 'invariants hold while it runs');
select test.complete_next('pick', '{"shelf": 7, "total": 30}');
select is(test.workflows(:'p'), '{pick Completed,bill Running}', 'what depends on it begins later');
select is(bpm.get_variables(:'p'), '{"total": 20}', 'nor has the process its results');
select is((select i.kind || ' ' || i.target_kind || ' ' || (i.payload ->> 'binding') from bpm_core.inbox i where i.target_id = :'p'), 'WorkflowEnded ProcessInstance pick',
          'through the inbox');
select is(test.broken(), '{}', 'invariants hold in between');
select is(bpm.run_until_idle(), 1, 'by one row of it');
select is(test.workflows(:'p'), '{pick Completed,bill Running,pack Running}', 'begun');
select is(bpm.get_variables(:'p'), '{"total": 30, "shelf": 7}', 'the process has its results');
select is((select c.variables from bpm.claim_tasks('w', '{pack}') c), '{"total": 30, "shelf": 7}', 'a later workflow sees them');
select is((select c.variables from bpm.claim_tasks('w', '{bill}') c), '{"total": 30, "shelf": 7}', 'so does one that runs');
select is((select array_agg(h.kind order by h.seq) from bpm.get_history(:'p') h where h.workflow_instance_id = test.workflow_of(:'p', 'pick') and h.category = 'instance'),
          '{InstanceStarted,InstanceCompleted,VariablesPassed}', 'history tells of it at the workflow');
select bpm.complete_tasks((select jsonb_agg(jsonb_build_object('task_id', t.task_id, 'fencing_token', t.fencing_token, 'variables',
  case t.task_type when 'bill' then '{"bill": "B-1", "last": "bill"}'::jsonb else '{"box": 3, "last": "pack"}' end) order by t.task_type)
  from bpm.task t where t.process_instance_id = :'p' and t.state = 'Executing'));
select is(bpm.run_until_idle(), 2, 'two end in the same command');
select is(test.workflows(:'p'), '{pick Completed,bill Completed,pack Completed,ship Running}', 'what depends on both has begun, once');
select ok(bpm.get_variables(:'p') @> '{"bill": "B-1", "box": 3}', 'both have passed on what they had');
select test.complete_next('ship', '{"sent": true}');
select is(test.status(:'p'), 'Running', 'the end of the process is decided by the inbox');
select bpm.run_until_idle() \g /dev/null
select is(test.status(:'p'), 'Completed', 'it has ended');
select is((select i.variables from bpm.instance i where i.process_instance_id = :'p') ->> 'sent', 'true', 'with all results');
select is((select h.from_state || ' ' || h.to_state from bpm.get_history(:'p') h where h.kind = 'ProcessEnded'), 'Running Completed', 'which history tells');
select is(test.broken(), '{}', 'invariants hold after its end');

-- A condition that is false
select test.start('order', '{"total": 5}') as p \gset
select test.complete_next('pick'), test.complete_next('bill'); select bpm.run_until_idle();
select test.complete_next('pack'); select bpm.run_until_idle();
select is(test.workflows(:'p'), '{pick Completed,bill Completed,pack Completed,ship Skipped}', 'false: skipped');
select is(test.status(:'p'), 'Completed', 'which counts as ended');
select is((select h.kind || ' ' || h.to_state from bpm.get_history(:'p') h where h.workflow_instance_id = test.workflow_of(:'p', 'ship')  order by h.seq limit 1), 'InstanceSkipped Skipped', 'with history');
select is((select w.start_condition || ' ' || w.depends_on::text from bpm.workflow w where w.workflow_instance_id = test.workflow_of(:'p', 'ship')), '${total > 10} {pack,bill}', 'bpm.workflow says why');

-- Skipped at the start, and what depends on it, in one command; all skipped: it ends where it began
select test.several('rush', '[{"key": "pack", "depends_on": ["pick"]}, {"key": "pick", "condition": "${slow}"}]');
select test.start('rush') as p \gset
select is(test.workflows(:'p'), '{pack Running,pick Skipped}', 'what depends on a skipped one begins at once, whatever its position');
select is(test.broken(), '{}', 'invariants hold');
select test.several('nothing', '[{"key": "pick", "condition": "${slow}"}, {"key": "pack", "depends_on": ["pick"], "condition": "${slow}"}]');
select s.process_instance_id as p, s.status from bpm.start_process('nothing') s \gset
select is(:'status' || test.workflows(:'p')::text, 'Completed{"pick Skipped","pack Skipped"}', 'all skipped: Completed at once');
select is(test.broken(), '{}', 'invariants hold');

-- A single workflow that is not called main, or has a condition, is a process of several too
select test.several('lone', '[{"key": "pick", "condition": "${go}"}]');
select test.start('lone', '{"go": true}') as p \gset
select test.complete_next('pick'); select bpm.run_until_idle();
select is(test.status(:'p') || test.workflows(:'p')::text, 'Completed{"pick Completed"}', 'one with a condition');

-- A failure fails the process and cancels the rest
select test.start('order', '{"total": 20}') as p \gset
select bpm.deploy_bpmn(test.bpmn('w_gate', '<startEvent id="start"/><serviceTask id="gate" bpm:type="release-gated"/><endEvent id="end"/>' || test.flows('start>gate', 'gate>end')))
  from bpm.set_setting('engine.approval_required_task_types', '["release-gated"]');
select test.several('gated', '[{"key": "pick"}, {"key": "gate"}, {"key": "pack", "depends_on": ["pick"]}]');
select test.start('gated') as p \gset
select test.decide(:'p', 'Rejected');
select is(test.workflows(:'p') || test.status(:'p'), '{pick Running,gate Failed,Running}', 'one has failed');
select is(bpm.run_until_idle(), 2, 'the process hears of it, then the others');
select is(test.workflows(:'p') || test.status(:'p'), '{pick Cancelled,gate Failed,Failed}', 'it fails, the rest is cancelled, nothing begins');
select is((select count(*) from bpm.task t where t.process_instance_id = :'p' and t.state = 'Ready'), 0::bigint, 'with its tasks');
select is(test.broken(), '{}', 'invariants hold');

-- Events and messages: any workflow of the process
select bpm.deploy_bpmn(test.bpmn('w_wait', '<startEvent id="start"/><intermediateCatchEvent id="paid"><messageEventDefinition messageRef="m"/></intermediateCatchEvent><endEvent id="end"/>'
  || test.flows('start>paid', 'paid>end'), '<message id="m" name="paid"/>'));
select test.several('mail', '[{"key": "pick"}, {"key": "wait"}, {"key": "pack", "depends_on": ["wait"]}]');
select test.start('mail', '{}', 'M-1') as p \gset
select is((select c.process_instance_id::text || c.state from bpm.correlate_message('paid', 'M-1', '{"amount": 3}') c), :'p' || 'Correlated', 'a message finds its workflow');
select bpm.run_until_idle();
select is(test.workflows(:'p')::text || bpm.get_variables(:'p')::text, '{"pick Running","wait Completed","pack Running"}{"amount": 3}', 'which passes on what came with it');
-- A condition somebody waits for is asked again when another workflow passes something on
select bpm.deploy_bpmn(test.bpmn('w_watch', '<startEvent id="start"/><intermediateCatchEvent id="seen"><conditionalEventDefinition><condition>${shelf == 7}</condition></conditionalEventDefinition></intermediateCatchEvent><endEvent id="end"/>'
  || test.flows('start>seen', 'seen>end')));
select test.several('watched', '[{"key": "pick"}, {"key": "watch"}]');
select test.start('watched') as p \gset
select test.complete_next('pick') is not null; select test.complete_next('pick') is not null; select test.complete_next('pick', '{"shelf": 7}') is not null as done \gset
select bpm.run_until_idle();
select is(test.workflows(:'p')::text, '{"pick Completed","watch Completed"}', 'a condition that waits hears of it');
select is(test.status(:'p'), 'Completed', 'and the process ends');

-- A message starts the only workflow of such a process; beside others that cannot be told from a start that goes wrong
select bpm.deploy_bpmn(test.bpmn('w_mailed', '<startEvent id="came"><messageEventDefinition messageRef="m"/></startEvent><serviceTask id="read" bpm:type="read"/><endEvent id="end"/>'
  || test.flows('came>read', 'read>end'), '<message id="m" name="letter"/>'));
select test.several('letters', '[{"key": "mailed"}]');
update bpm_core.process_definition d set archived_at = bpm_core.now() where d.code = 'w_mailed';
update bpm_core.subscription s set state = 'Closed' from bpm_core.process_definition d where d.code = 'w_mailed' and s.process_version_id = d.published_version_id;
select c.process_instance_id as p from bpm.correlate_message('letter', 'L-1', '{"text": "hi"}') c \gset
select is(test.workflows(:'p')::text || bpm.get_variables(:'p')::text, '{"mailed Running"}{"text": "hi"}', 'a message starts it');
select throws_ok($$select bpm.start_process('letters')$$, 'BP409', null, 'which has no plain start');
select test.complete_next('read', '{"read": true}'); select bpm.run_until_idle();
select is(test.status(:'p') || bpm.get_variables(:'p')::text || test.broken()::text, 'Completed{"read": true, "text": "hi"}{}', 'and it ends');
select is((select j.fate || ' ' || j.code from bpm_core.process_workflow_binding b cross join lateral bpm_core.judge_start(b, null, '{}') j where b.binding_key = 'mailed'),
          'Stop WorkflowNotStartable', 'one without a plain start could not begin later');

-- Called processes
select bpm.deploy_bpmn(test.bpmn('caller', '<startEvent id="start"/><callActivity id="call" calledElement="order"/><endEvent id="end"/>' || test.flows('start>call', 'call>end')));
select test.start('caller') as p \gset
select is((select i.code from bpm.incident i where i.process_instance_id = :'p'), 'CalledProcessOfSeveral', 'only one of a single workflow can be called');

-- Many at once
select is((select count(distinct s.process_instance_id) || ' ' || count(distinct s.workflow_instance_id) || ' ' || count(*) filter (where s.outcome = 'Done')
             from bpm.start_processes((select jsonb_agg(jsonb_build_object('code', case when n % 2 = 0 then 'order' else 'w_pick' end, 'variables', '{"total": 1}'::jsonb)) from generate_series(1, 20) n)) s),
          '20 20 20', 'in a batch with others');
select is(test.broken(), '{}', 'invariants hold');
select * from finish();
rollback;
