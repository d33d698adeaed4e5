-- What a task gets when it is offered, and what becomes of what it brings: mappings, people, dates, priorities, headers, in the dialects of other engines.
begin;
select plan(40);

create function pg_temp.deploy(p_code text, p_body text, p_outside text default '') returns text language sql as $$
  select string_agg(w.value ->> 'code', ',')
    from bpm.deploy_bpmn(replace(test.bpmn(p_code, '<startEvent id="start"/>' || p_body, p_outside), '<definitions ',
      '<definitions xmlns:camunda="http://camunda.org/schema/1.0/bpmn" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" ')) d
    left join lateral jsonb_array_elements(d.warnings) w on true
$$;
create function pg_temp.codes(p_body text) returns text language sql as $$
  select string_agg(c.code || coalesce(': ' || c.message, ''), ' | ' order by c.message) from bpm.check_bpmn(replace(test.bpmn('c', '<startEvent id="start"/>' || p_body || '<endEvent id="end"/>'
    || test.flows('start>a', 'a>end')), '<definitions ', '<definitions xmlns:camunda="http://camunda.org/schema/1.0/bpmn" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" ')) c
$$;

-- Zeebe's and Camunda's mappings on service tasks
select is(pg_temp.deploy('map',
  '<serviceTask id="a" bpm:type="a"><extensionElements><zeebe:ioMapping><zeebe:input source="=order.total * 2" target="amount"/><zeebe:input source="=amount + 1" target="more.deep"/>'
  '<zeebe:output source="=receipt.id" target="receiptId"/></zeebe:ioMapping><zeebe:taskHeaders><zeebe:header key="url" value="/pay"/></zeebe:taskHeaders></extensionElements></serviceTask>'
  '<serviceTask id="b" bpm:type="b"><extensionElements><camunda:inputOutput><camunda:inputParameter name="text">Order ${order.id}</camunda:inputParameter>'
  '<camunda:inputParameter name="list"><camunda:list><camunda:value>${order.id}</camunda:value><camunda:value>x</camunda:value></camunda:list></camunda:inputParameter>'
  '<camunda:inputParameter name="map"><camunda:map><camunda:entry key="k">${order.total}</camunda:entry></camunda:map></camunda:inputParameter>'
  '<camunda:inputParameter name="nothing"/><camunda:outputParameter name="sum">${brought + order.total}</camunda:outputParameter></camunda:inputOutput>'
  '<camunda:properties><camunda:property name="p" value="v"/></camunda:properties></extensionElements></serviceTask>'
  || test.service('c') || '<endEvent id="end"/>' || test.flows('start>a', 'a>b', 'b>c', 'c>end')), null, 'nothing to warn of');
select test.start('map', '{"order": {"id": 7, "total": 10.5}}') as m \gset
select c.variables, c.headers, c.task_id, c.fencing_token from bpm.claim_tasks('w', '{a}') c \gset a_
select is(:'a_variables'::jsonb, '{"order": {"id": 7, "total": 10.5}, "amount": 21, "more": {"deep": 22}}', 'a worker sees the variables, and the inputs over them');
select is(:'a_headers'::jsonb, '{"url": "/pay"}', 'and the headers');
select is((select t.input from bpm.task t where t.task_id = :'a_task_id'), '{"amount": 21, "more": {"deep": 22}}', 'the inputs are the task''s');
select is((select c.outcome::text from bpm.complete_task(:'a_task_id', :'a_fencing_token', '{"receipt": {"id": "R1"}, "junk": 1}') c), 'Completed', 'done');
select is(bpm.get_variables(:'m'), '{"order": {"id": 7, "total": 10.5}, "receiptId": "R1"}',
  'only what the outputs name is patched');
select c.variables, c.headers, c.task_id, c.fencing_token from bpm.claim_tasks('w', '{b}') c \gset b_
select is(:'b_variables'::jsonb - '{order,receiptId}'::text[], '{"text": "Order 7", "list": [7, "x"], "map": {"k": 10.5}, "nothing": null}', 'texts, lists and maps');
select is(:'b_headers'::jsonb, '{"p": "v"}', 'properties are headers');

-- an output mapping that cannot be evaluated: the result is kept, the token stops, resolving maps again and does not work again
select is((select c.outcome::text from bpm.complete_task(:'b_task_id', :'b_fencing_token', '{"brought": "1"}') c), 'Completed', 'the worker is done');
select is((select i.code || ': ' || i.message from bpm.incident i where i.process_instance_id = :'m' and i.state = 'Open'),
  'ExpressionUndecidable: Task b: the mapping ${brought + order.total} of sum cannot be evaluated.', 'an incident');
select is((select i.detail -> 'seen' from bpm.incident i where i.process_instance_id = :'m' and i.state = 'Open'),
  '[{"path": "brought", "value": "1", "type": "string"}, {"path": "order.total", "value": 10.5, "type": "number"}]', 'with the values seen');
select is((select c.outcome::text from bpm.complete_task(:'b_task_id', :'b_fencing_token', '{"brought": "1"}') c), 'Completed', 'a repeat gets the same answer');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold while it is stopped');
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'m' and i.state = 'Open' \g /dev/null
select is((select count(*)::integer from bpm.incident i where i.process_instance_id = :'m' and i.state = 'Open' and i.code = 'ExpressionUndecidable'), 1, 'nothing mended: it stops again');
select bpm.set_variables(:'m', '{"order": {"id": 7, "total": "!"}}') \g /dev/null
update bpm_core.incident i set detail = jsonb_set(i.detail, '{brought,brought}', '"x"') where i.state = 'Open';
update bpm_core.task_instance t set outputs = jsonb_set(t.outputs, '{0,tree}', (bpm_core.compile_expression('= brought + order.total')).tree) where t.id = :'b_task_id';
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'m' and i.state = 'Open' \g /dev/null
select is(bpm.get_variables(:'m') ->> 'sum', 'x!', 'mended: mapped from what was brought');
select is((select string_agg(t.node_id || ' ' || t.state, ', ' order by t.task_id) from bpm.task t where t.process_instance_id = :'m'), 'a Completed, b Completed, c Ready', 'and it goes on; nobody worked twice');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold, variables and tokens as history tells');

-- an input that cannot be evaluated: no task
select test.start('map', '{"order": {"id": 7}}') as n \gset
select is((select i.code || ' ' || i.node_id from bpm.incident i where i.process_instance_id = :'n'), 'ExpressionUndecidable a', 'an input that cannot be evaluated is an incident');
select is((select count(*)::integer from bpm.task t where t.process_instance_id = :'n'), 0, 'and no task is offered');
select bpm.set_variables(:'n', '{"order": {"id": 7, "total": 1}}') \g /dev/null
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'n' and i.state = 'Open' \g /dev/null
select is((select t.input ->> 'amount' from bpm.task t where t.process_instance_id = :'n'), '2', 'mended, it is');

-- a result taken while the instance is suspended is mapped when it goes on
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{a}') c \gset n_
select bpm.suspend_process(:'n') \g /dev/null
select is((select c.outcome::text from bpm.complete_task(:'n_task_id', :'n_fencing_token', '{"receipt": {"id": "R2"}, "junk": 1}') c), 'Completed', 'a result for a suspended instance');
select bpm.resume_process(:'n') \g /dev/null
select t.done from bpm.tick() t \g /dev/null
select is(bpm.get_variables(:'n') - 'order', '{"receiptId": "R2"}', 'mapped when it goes on');

-- people, dates, priorities
select is(pg_temp.deploy('who',
  '<userTask id="a" camunda:assignee="${boss}" camunda:candidateGroups="${groups}" camunda:candidateUsers="ann, ${second}" camunda:dueDate="${due}" camunda:followUpDate="P1D" camunda:priority="${urgency}"/>'
  '<endEvent id="end"/>' || test.flows('start>a', 'a>end')), null, 'nothing to warn of');
select test.start('who', '{"boss": "bob", "groups": ["x", "y"], "second": "eve", "due": "2030-01-31T12:00:00Z", "urgency": 80}') as w \gset
select is((select row(t.assignee, t.candidate_groups, t.candidate_users, t.due_at at time zone 'UTC', t.priority_level)::text from bpm.task t where t.process_instance_id = :'w'),
  '(bob,"{x,y}","{ann,eve}","2030-01-31 12:00:00",0)', 'all of it by expressions');
select ok((select t.follow_up_at between bpm_core.now() + interval '23 hours' and bpm_core.now() + interval '25 hours' from bpm.task t where t.process_instance_id = :'w'), 'a duration is from now');
select is((select c.outcome::text from bpm.task t cross join lateral bpm.complete_user_task(t.task_id, '{"urgency": 1}', 'bob') c where t.process_instance_id = :'w'), 'Completed', 'answered');
select test.start('who', '{"boss": "bob", "second": "eve", "due": "soon"}') as v \gset
select is((select i.message from bpm.incident i where i.process_instance_id = :'v'), 'Task a: the due ${due} cannot be evaluated.', 'a date that is none is an incident');
select test.start('who', '{"second": "eve"}') as u \gset
select is((select row(t.assignee, t.candidate_groups, t.due_at, t.priority_level)::text from bpm.task t where t.process_instance_id = :'u'), '(,{},,1)', 'what is null says nothing');

-- scripts and business rules are tasks for a worker
select is(pg_temp.deploy('rule',
  '<scriptTask id="sc" scriptFormat="groovy"><script>x = 1</script></scriptTask><businessRuleTask id="br" camunda:decisionRef="dish" camunda:resultVariable="result"/>'
  '<businessRuleTask id="bz" bpm:type="decide"><extensionElements><zeebe:calledDecision decisionId="dish" resultVariable="r"/></extensionElements></businessRuleTask>'
  '<endEvent id="end"/>' || test.flows('start>sc', 'sc>br', 'br>bz', 'bz>end')), 'ScriptIgnored', 'a script is not run, and said so');
select test.start('rule') as r \gset
select is((select c.headers from bpm.claim_tasks('w', '{sc}') c), '{"script": "x = 1", "scriptFormat": "groovy"}', 'a worker finds the script');
select is((select b.headers from bpm_core.workflow_task_binding b where b.node_id = 'br'), '{"decision": "dish", "resultVariable": "result"}', 'the decision in the headers');
select is((select b.task_type || ' ' || (b.headers ->> 'decision') from bpm_core.workflow_task_binding b where b.node_id = 'bz'), 'decide dish', 'in Zeebe''s dialect');

-- a send task's payload, a message's outputs, a key that is calculated
select bpm.register_destination('mail', 'http', '{"url": "http://mail.example/"}') \g /dev/null
select is(pg_temp.deploy('talk',
  '<sendTask id="a" bpm:type="mail"><extensionElements><zeebe:ioMapping><zeebe:input source="=&quot;Dear &quot; + name" target="text"/></zeebe:ioMapping></extensionElements></sendTask>'
  '<receiveTask id="b" messageRef="m"><extensionElements><zeebe:ioMapping><zeebe:output source="=answer" target="said.last"/></zeebe:ioMapping></extensionElements></receiveTask>'
  || test.service('c') || '<endEvent id="end"/>' || test.flows('start>a', 'a>b', 'b>c', 'c>end'),
  '<message id="m" name="reply"><extensionElements><zeebe:subscription correlationKey="=name + &quot;-1&quot;"/></extensionElements></message>'), null, 'nothing to warn of');
select test.start('talk', '{"name": "Ada"}') as t \gset
select is((select o.payload from bpm_core.outbox o where o.task_type = 'mail'), '{"name": "Ada", "text": "Dear Ada"}', 'a command has the inputs');
select is((select c.state::text from bpm.correlate_message('reply', 'Ada-1', '{"answer": "yes", "noise": 1}') c), 'Correlated', 'a key that is calculated');
select is(bpm.get_variables(:'t'), '{"name": "Ada", "said": {"last": "yes"}}', 'of a message only what the outputs name');

-- what is still refused or warned of
select is(pg_temp.codes('<serviceTask id="a" bpm:type="a"><extensionElements><camunda:inputOutput><camunda:inputParameter name="x">${S(y).prop("z")}</camunda:inputParameter></camunda:inputOutput></extensionElements></serviceTask>'),
  'InvalidCondition: serviceTask "a": mapping of x: the call of S is not understood (position 4).', 'a mapping that cannot be read is a fault');
select is(pg_temp.codes('<serviceTask id="a" bpm:type="a"><extensionElements><camunda:inputOutput><camunda:inputParameter name="x"><camunda:script scriptFormat="groovy">1</camunda:script></camunda:inputParameter></camunda:inputOutput></extensionElements></serviceTask>'),
  'MappingIgnored: serviceTask "a" has mappings that are not executed: x (a script, or nested).', 'a script in one is warned of');
select is(pg_temp.codes('<userTask id="a" camunda:assignee="${people.find(x)}"/>'),
  'ExpressionIgnored: userTask "a" has an expression that is not understood: assignee ${people.find(x)}: the call of people.find is not understood (position 14).', 'so is a person found by code');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
