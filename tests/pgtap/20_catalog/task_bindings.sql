-- What nodes say about their execution, in the dialects of the engines they were drawn for.
begin;
select plan(38);

create function pg_temp.task(p_task text) returns bpm_core.draft_node language sql as $$
  select n from bpm_core.compile_text(replace(test.bpmn('p', p_task), '<definitions ', '<definitions xmlns:camunda="http://camunda.org/schema/1.0/bpmn" xmlns:operaton="http://operaton.org/schema/1.0/bpmn" '
    'xmlns:flowable="http://flowable.org/bpmn" xmlns:activiti="http://activiti.org/bpmn" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" '), false, '') c cross join lateral unnest(c.nodes) n
$$;
create function pg_temp.binding(p_task text) returns record language sql as $$
  select row(b.max_attempts, b.lease, b.priority_level, b.assignee, b.candidate_groups)
    from (select (pg_temp.task(p_task)).*) n cross join lateral bpm_core.drawn_binding(n.attributes, n.extensions, n.lane) b
$$;

-- the type
select is((pg_temp.task(x.task)).task_type, x.type, x.type || ': ' || x.task)
  from (values
    ('<serviceTask id="n"/>', 'n'),
    ('<serviceTask id="n" bpm:type="ours" camunda:topic="theirs"/>', 'ours'),
    ('<serviceTask id="n" camunda:type="external" camunda:topic="t"/>', 't'),
    ('<serviceTask id="n" operaton:type="external" operaton:topic="t"/>', 't'),
    ('<serviceTask id="n" flowable:type="external-worker" flowable:topic="t"/>', 't'),
    ('<serviceTask id="n"><extensionElements><zeebe:taskDefinition type="z" retries="5"/></extensionElements></serviceTask>', 'z'),
    ('<serviceTask id="n" camunda:topic="c"><extensionElements><zeebe:taskDefinition type="z"/></extensionElements></serviceTask>', 'z'),
    ('<serviceTask id="n" camunda:class="com.example.Charge"/>', 'com.example.Charge'),
    ('<serviceTask id="n" camunda:delegateExpression="${chargeDelegate}"/>', 'chargeDelegate'),
    ('<serviceTask id="n" activiti:class="com.example.Charge"/>', 'com.example.Charge'),
    ('<serviceTask id="n" flowable:type="http"/>', 'http'),
    ('<serviceTask id="n" camunda:expression="${bean.charge(order)}"/>', 'n'),
    ('<sendTask id="n" camunda:topic="mail"/>', 'mail'),
    ('<userTask id="n" camunda:topic="x"/>', 'bpm:user')) x (task, type);
select is((pg_temp.task('<manualTask id="n" camunda:topic="x"/>')).task_type, null, 'a manual task has none');
select is((bpm_core.drawn_task_type('n', x.attributes::jsonb, '{}')).borrowed is not null, x.borrowed, 'a guess from code is told apart: ' || x.attributes)
  from (values ('{"camunda:class": "c"}', true), ('{"camunda:expression": "${x}"}', true), ('{"camunda:topic": "t", "camunda:class": "c"}', false), ('{"camunda:type": "external"}', false), ('{}', false)) x (attributes, borrowed);

-- retries, lease, priority
select is(pg_temp.binding(x.task)::text, x.binding, x.task)
  from (values
    ('<serviceTask id="n" bpm:retries="7" bpm:lease="PT2M" bpm:priority="high"/>', '(7,00:02:00,0,,{})'),
    ('<serviceTask id="n" bpm:priority="LOW"/>', '(,,2,,{})'),
    ('<serviceTask id="n"><extensionElements><zeebe:taskDefinition type="z" retries="5"/></extensionElements></serviceTask>', '(5,,,,{})'),
    ('<serviceTask id="n"><extensionElements><camunda:failedJobRetryTimeCycle>R4/PT10M</camunda:failedJobRetryTimeCycle></extensionElements></serviceTask>', '(4,,,,{})'),
    ('<serviceTask id="n"><extensionElements><flowable:failedJobRetryTimeCycle>R2/PT1H</flowable:failedJobRetryTimeCycle></extensionElements></serviceTask>', '(2,,,,{})'),
    ('<serviceTask id="n"><extensionElements><zeebe:taskDefinition type="z" retries="=n"/></extensionElements></serviceTask>', '(,,,,{})'),
    -- people
    ('<userTask id="n" camunda:assignee="ann" camunda:candidateGroups="sales, ops ,"/>', '(,,,ann,"{sales,ops}")'),
    ('<userTask id="n" flowable:assignee="ann" flowable:candidateGroups="sales"/>', '(,,,ann,{sales})'),
    ('<userTask id="n"><extensionElements><zeebe:assignmentDefinition assignee="ann" candidateGroups="sales"/></extensionElements></userTask>', '(,,,ann,{sales})'),
    ('<userTask id="n" bpm:assignee="ann" camunda:assignee="bob"/>', '(,,,ann,{})'),
    ('<userTask id="n" camunda:assignee="${boss}" camunda:candidateGroups="${groups}"/>', '(,,,,{})'),
    ('<laneSet><lane id="l" name="Sales"><flowNodeRef>n</flowNodeRef></lane></laneSet><userTask id="n"/>', '(,,,,{Sales})'),
    ('<laneSet><lane id="l" name="Sales"><flowNodeRef>n</flowNodeRef></lane></laneSet><userTask id="n" camunda:candidateGroups="ops"/>', '(,,,,{ops})')) x (task, binding);
select is((bpm_core.drawn_binding('{"bpm:retries": "0", "bpm:lease": "PT0S", "bpm:priority": "x"}', '{}', null)).problem,
  'retries ''0'' is not a number from 1 to 1000; lease ''PT0S'' is not an ISO 8601 duration from PT1S to P1D; priority ''x'' is not high, normal or low, nor a number', 'all that is wrong is said');

-- what is kept for later
select is(bpm_core.stored_attributes(x.attributes::jsonb, x.extensions::jsonb, null, 'why', null) - '{drawn,extensions}'::text[], x.stored::jsonb, 'kept: ' || x.attributes || x.extensions)
  from (values ('{"id": "n", "camunda:formKey": "f", "camunda:dueDate": "${due}", "camunda:candidateUsers": "a,b"}', '{}', '{"documentation": "why", "form_key": "f", "due_date": "${due}", "candidate_users": "a,b"}'),
               ('{}', '{"zeebe:formDefinition": {"formId": "z"}, "zeebe:taskSchedule": {"dueDate": "=d", "followUpDate": "=f"}}', '{"documentation": "why", "form_key": "z", "due_date": "=d", "follow_up_date": "=f"}'),
               ('{"id": "n", "name": "N"}', '{}', '{"documentation": "why"}')) x (attributes, extensions, stored);
select is(bpm_core.stored_attributes('{"id": "n", "camunda:asyncBefore": "true"}', '{"camunda:properties": {"body": ""}}', 'L', null, 'a.b'),
  '{"lane": "L", "timer_path": "a.b", "drawn": {"camunda:asyncBefore": "true"}, "extensions": {"camunda:properties": {"body": ""}}}', 'and what nobody reads yet');

select * from finish();
rollback;
