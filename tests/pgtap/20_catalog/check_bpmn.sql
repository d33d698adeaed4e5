-- Every fault code by an input that causes it, all at once in one answer, and every warning.
begin;
select plan(90);

create function pg_temp.faults(p_xml text, p_strict boolean default false) returns text[] language sql as $$
  select array(select c.code || ' ' || coalesce(c.flow_id, c.node_id, '-') from bpm.check_bpmn(p_xml, p_strict) c where c.severity = 'fault' order by 1)
$$;
create function pg_temp.warnings(p_xml text) returns text[] language sql as $$
  select array(select c.code || ' ' || coalesce(c.flow_id, c.node_id, '-') from bpm.check_bpmn(p_xml) c where c.severity = 'warning' order by 1)
$$;
create function pg_temp.message(p_xml text, p_code text) returns text language sql as $$
  select string_agg(c.message, ' | ' order by c.message) from bpm.check_bpmn(p_xml) c where c.code = p_code
$$;
-- start -> the nodes in a row -> end, with whatever else
create function pg_temp.line(p_nodes text, p_id text, p_more text default '', p_outside text default '') returns text language sql as $$
  select test.bpmn('p', '<startEvent id="s"/>' || p_nodes || '<endEvent id="e"/>' || test.flows('s>' || p_id, p_id || '>e') || p_more, p_outside)
$$;
create function pg_temp.choice(p_gateway text, p_first text, p_second text) returns text language sql as $$
  select test.bpmn('p', '<startEvent id="s"/><exclusiveGateway id="g" ' || p_gateway || '/><endEvent id="e1"/><endEvent id="e2"/>' || test.flows('s>g')
    || '<sequenceFlow id="f1" sourceRef="g" targetRef="e1">' || p_first || '</sequenceFlow><sequenceFlow id="f2" sourceRef="g" targetRef="e2">' || p_second || '</sequenceFlow>')
$$;
create function pg_temp.timer(p_rule text) returns text language sql as $$
  select pg_temp.line('<intermediateCatchEvent id="t"><timerEventDefinition>' || p_rule || '</timerEventDefinition></intermediateCatchEvent>', 't')
$$;

-- nothing wrong
select is_empty(format('select * from bpm.check_bpmn(%L)', test.linear('p', 'a', 'b')), 'a good file says nothing');
select is(pg_temp.faults(test.everything('p')), '{}', 'one with everything that is executed has no fault');

-- the file
select is(pg_temp.faults('<a'), '{"InvalidXml -"}', 'InvalidXml');
select is((select array_agg(c.line) from bpm.check_bpmn(E'<a>\n\n<b>') c), '{3}', 'with its line');
select is(pg_temp.faults(repeat('x', 5000000)), '{"TooLarge -"}', 'TooLarge: 5 MB');
select is(pg_temp.faults('<a/>'), '{"NoProcess -"}', 'NoProcess: another root');
select is(pg_temp.faults(test.bpmn('p', '')), '{"NoProcess -"}', 'NoProcess: an empty process');
select is(pg_temp.faults('<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL"><collaboration id="c"><participant id="x"/></collaboration></definitions>'),
  '{"NoProcess -"}', 'NoProcess: pools without processes');

-- starts and ends
select is(pg_temp.faults(test.bpmn('p', '<manualTask id="a"/><endEvent id="e"/>' || test.flows('a>e'))), '{"NoStartEvent p","OrphanNode a"}', 'NoStartEvent');
select is(pg_temp.faults(test.bpmn('p', '<startEvent id="s"/><startEvent id="s2"/><endEvent id="e"/>' || test.flows('s>e', 's2>e'))), '{"MultipleStartEvents p"}', 'MultipleStartEvents');
select is(pg_temp.faults(test.bpmn('p', '<startEvent id="s"/><manualTask id="a"/>' || test.flows('s>a'))), '{"DeadEnd a","NoEndEvent p"}', 'NoEndEvent');
select is(pg_temp.faults(test.bpmn('p', '<startEvent id="s"/><endEvent id="e"/>')), '{"DeadEnd s","OrphanNode e"}', 'DeadEnd and OrphanNode');
select is(pg_temp.faults(test.bpmn('p', '<startEvent id="s"/><endEvent id="e"/><manualTask id="a"/><manualTask id="b"/>' || test.flows('s>e', 'a>b', 'b>a'))),
  '{"OrphanNode a","OrphanNode b"}', 'OrphanNode: a circle nothing leads into');
select is(pg_temp.faults(test.bpmn('p', '<startEvent id="s"/><endEvent id="e"/><manualTask id="a"/><serviceTask id="b"/>' || test.flows('s>a', 'a>b', 'b>e')
    || '<boundaryEvent id="x" attachedToRef="b"><errorEventDefinition/></boundaryEvent>' || test.flows('x>a'))), '{}', 'a loop over a boundary event is reached');

-- flows
select is(pg_temp.faults(pg_temp.line('<manualTask id="a"/>', 'a', '<sequenceFlow id="f" sourceRef="nobody" targetRef="e"/>')), '{"SequenceFlowSourceNotFound f"}', 'SequenceFlowSourceNotFound');
select is(pg_temp.faults(pg_temp.line('<manualTask id="a"/>', 'a', '<sequenceFlow id="f" targetRef="e"/>')), '{"SequenceFlowSourceNotFound f"}', 'no source at all');
select is(pg_temp.faults(pg_temp.line('<manualTask id="a"/>', 'a', '<sequenceFlow id="f" sourceRef="e" targetRef="a"/>')), '{"SequenceFlowSourceNotFound f"}', 'an end event is no source');
select is(pg_temp.faults(pg_temp.line('<manualTask id="a"/>', 'a', '<sequenceFlow id="f" sourceRef="a" targetRef="nobody"/>')), '{"SequenceFlowTargetNotFound f"}', 'SequenceFlowTargetNotFound');
select is(pg_temp.faults(pg_temp.line('<manualTask id="a"/>', 'a', '<sequenceFlow id="f" sourceRef="a" targetRef="s"/>')), '{"SequenceFlowTargetNotFound f"}', 'a start event is no target');
select is(pg_temp.message(replace(pg_temp.line('<manualTask id="a"/>', 'a'), '</definitions>', '<process id="q" isExecutable="true"><startEvent id="s2"/><endEvent id="e2"/>'
    || test.flows('s2>e2') || '<sequenceFlow id="f" sourceRef="s2" targetRef="a"/></process></definitions>'), 'SequenceFlowTargetNotFound'),
  'Sequence flow "f" leads to "a", which is in another process or sub-process.', 'flows do not cross processes');

-- ids
select is(pg_temp.faults(pg_temp.line('<manualTask id="a"/><manualTask id="a"/>', 'a')), '{"DuplicateId a"}', 'DuplicateId');
select is((select array_agg(c.line) from bpm.check_bpmn(pg_temp.line(E'<manualTask id="a"/>\n\n<manualTask id="a"/>', 'a')) c), '{3}', 'at the line of the second');
select is(pg_temp.faults(test.bpmn('p', '<startEvent id="s"/><endEvent id="e1"/><endEvent id="e2"/><endEvent id="s:split"/>' || test.flows('s>e1', 's>e2', 's>s:split'))),
  '{"DuplicateId s:split"}', 'DuplicateId: the name of a node the compiler adds');
select is(pg_temp.faults(pg_temp.line(format('<manualTask id="%s"/>', repeat('x', 201)), repeat('x', 201))), '{"TooLarge -","TooLarge -","TooLarge -"}', 'TooLarge: ids of a node and its flows');
select is(pg_temp.faults(pg_temp.line(format('<serviceTask id="a" bpm:type="%s"/>', repeat('x', 201)), 'a')), '{"TooLarge a"}', 'TooLarge: a task type');

-- gateways
select is(pg_temp.faults(pg_temp.choice('', '<conditionExpression>${x}</conditionExpression>', '')), '{"ExclusiveGatewayNoDefault g"}', 'ExclusiveGatewayNoDefault: no default while a flow has no condition');
select is(pg_temp.faults(test.bpmn('p', '<startEvent id="s"/><exclusiveGateway id="g" default="f1"/><endEvent id="e"/>' || test.flows('s>g')
    || '<sequenceFlow id="f1" sourceRef="g" targetRef="e"/><sequenceFlow id="f2" sourceRef="g" targetRef="e"/><sequenceFlow id="f3" sourceRef="g" targetRef="e"><conditionExpression>${x}</conditionExpression></sequenceFlow>')),
  '{"ExclusiveGatewayNoDefault g"}', 'ExclusiveGatewayNoDefault: more than one default');
select is(pg_temp.faults(pg_temp.choice('', '<conditionExpression>${x}</conditionExpression>', '<conditionExpression> </conditionExpression>')), '{"ExclusiveGatewayNoDefault g"}', 'an empty condition is none');
select is(pg_temp.faults(pg_temp.choice('', '<conditionExpression>${x}</conditionExpression>', '<conditionExpression>${!x}</conditionExpression>')), '{}', 'conditions everywhere need no default');
select is(pg_temp.faults(pg_temp.choice('default="f2"', '<conditionExpression>${x}</conditionExpression>', '')), '{}', 'a default needs no condition');
select is(pg_temp.faults(replace(pg_temp.choice('', '<conditionExpression>${x}</conditionExpression>', ''), 'exclusiveGateway', 'parallelGateway')), '{"ParallelGatewayInvalidShape g"}', 'ParallelGatewayInvalidShape: a condition');
select is(pg_temp.faults(replace(pg_temp.choice('default="f1"', '', ''), 'exclusiveGateway', 'parallelGateway')), '{"ParallelGatewayInvalidShape g"}', 'ParallelGatewayInvalidShape: a default');
select is(pg_temp.faults(replace(pg_temp.choice('', '<conditionExpression>${x}</conditionExpression>', ''), 'exclusiveGateway', 'manualTask')), '{}', 'a task with conditional flows beside others is an inclusive split');
select is(pg_temp.faults(replace(pg_temp.choice('default="f1"', '', ''), 'exclusiveGateway', 'manualTask')), '{}', 'and so is one with a default beside a plain flow');

-- conditions
select is(pg_temp.faults(pg_temp.choice('default="f2"', '<conditionExpression>${x +}</conditionExpression>', '')), '{"InvalidCondition f1"}', 'InvalidCondition');
select is(pg_temp.message(pg_temp.choice('default="f2"', '<conditionExpression>${x +}</conditionExpression>', ''), 'InvalidCondition'),
  'Condition of sequence flow "f1" cannot be read: it ends where a value should stand (position 6).', 'with the position');
select is((select c.node_id from bpm.check_bpmn(pg_temp.choice('default="f2"', '<conditionExpression>${x +}</conditionExpression>', '')) c), 'g', 'and the gateway');
select is(pg_temp.faults(pg_temp.choice('default="f2"', '', '<conditionExpression>${nonsense (}</conditionExpression>')), '{"ExclusiveGatewayNoDefault g"}', 'the condition of a default is not looked at');

-- timers
select is(pg_temp.faults(pg_temp.timer(x.rule)), '{"InvalidTimer t"}', 'InvalidTimer: ' || x.rule)
  from (values (''), ('<timeDuration></timeDuration>'), ('<timeDuration>5 minutes</timeDuration>'), ('<timeDate>2030-02-30</timeDate>'), ('<timeCycle>0 0 31 2 *</timeCycle>'),
               ('<timeDuration>2030-01-01</timeDuration>'), ('<timeDuration>${now( + x}</timeDuration>')) x (rule);
select is(pg_temp.faults(pg_temp.timer(x.rule)), '{}', x.rule || ' is valid')
  from (values ('<timeDuration> "PT5M" </timeDuration>'), ('<timeDuration>${order.patience}</timeDuration>'), ('<timeDuration>="PT1S"</timeDuration>'), ('<timeDate>=until</timeDate>'),
               ('<timeCycle>R3/PT10M</timeCycle>')) x (rule);

-- references
select is(pg_temp.faults(pg_temp.line('<serviceTask id="a"/>', 'a', '<boundaryEvent id="b" attachedToRef="nobody"><errorEventDefinition/></boundaryEvent>' || test.flows('b>e'))), '{"UnknownReference b"}', 'UnknownReference: host');
select is(pg_temp.faults(pg_temp.line('<exclusiveGateway id="a"/>', 'a', '<boundaryEvent id="b" attachedToRef="a"><errorEventDefinition/></boundaryEvent>' || test.flows('b>e'))), '{"UnknownReference b"}', 'UnknownReference: a gateway is no host');
select is(pg_temp.faults(pg_temp.line('<serviceTask id="a"/>', 'a', '<boundaryEvent id="b" attachedToRef="a"><errorEventDefinition errorRef="gone"/></boundaryEvent>' || test.flows('b>e'))), '{"UnknownReference b"}', 'UnknownReference: error');
select is(pg_temp.faults(pg_temp.line('<serviceTask id="a"/>', 'a', '<boundaryEvent id="b" attachedToRef="a"><errorEventDefinition errorRef="tns:m"/></boundaryEvent>' || test.flows('b>e'), '<message id="m" name="m"/>')),
  '{"UnknownReference b"}', 'UnknownReference: a message is no error');
select is(pg_temp.faults(pg_temp.line('<receiveTask id="a" messageRef="gone"/>', 'a')), '{"UnknownReference a"}', 'UnknownReference: message');
select is(pg_temp.faults(pg_temp.line('<receiveTask id="a"/>', 'a')), '{"UnknownReference a"}', 'UnknownReference: no message at all');
select is(pg_temp.faults(pg_temp.choice('default="gone"', '<conditionExpression>${x}</conditionExpression>', '<conditionExpression>${y}</conditionExpression>')), '{"UnknownReference g"}', 'UnknownReference: default flow');
select is(pg_temp.faults(pg_temp.line('<serviceTask id="a"/>', 'a', '<endEvent id="x"><errorEventDefinition/></endEvent>' || test.flows('a>x'))), '{"UnknownReference x"}', 'UnknownReference: an error end without a code');
select is(pg_temp.faults(pg_temp.line('<intermediateCatchEvent id="a"><eventDefinitionRef>gone</eventDefinitionRef></intermediateCatchEvent>', 'a')), '{"UnsupportedElement a"}', 'an event definition that is not there');
select is(pg_temp.faults(pg_temp.line('<receiveTask id="a" messageRef="m" bpm:correlationKey="${a +}"/>', 'a', '', '<message id="m" name="m"/>')), '{"InvalidCondition a"}', 'a correlation key that cannot be read');

-- our own attributes are taken at their word
select is(pg_temp.faults(pg_temp.line('<serviceTask id="a" ' || x.attributes || '/>', 'a')), '{"UnsupportedElement a"}', 'not understood: ' || x.attributes)
  from (values ('bpm:aproval="required"'), ('bpm:approval="yes"'), ('bpm:retries="0"'), ('bpm:retries="three"'), ('bpm:lease="30"'), ('bpm:priority="urgent"'), ('bpm:type="bpm:user"'),
               ('bpm:destination="x"'), ('bpm:type="${x}"')) x (attributes);
select is((select c.hint from bpm.check_bpmn(pg_temp.line('<sendTask id="a" bpm:destinaton="x"/>', 'a')) c where c.severity = 'fault'),
  'Understood there: bpm:type, bpm:destination.', 'and what is understood there is named');
select is((select c.hint from bpm.check_bpmn(pg_temp.line('<manualTask id="a" bpm:type="x"/>', 'a')) c where c.severity = 'fault'),
  'No attribute of this namespace is understood there.', 'or that nothing is');
select is(pg_temp.faults(pg_temp.line('<sendTask id="a" bpm:await="receipt"/>', 'a')), '{"UnsupportedElement a"}', 'await is not executed yet, and said so');
select is(pg_temp.faults(replace(pg_temp.line('<serviceTask id="a" bpm:approval="required"/>', 'a'), 'urn:pgbpm:bpmn:1', 'http://pgbpm.example/bpmn')), '{"UnsupportedElement a"}', 'nor is a namespace that only looks like ours passed over');

-- all at once, sorted: faults before warnings, by line
select results_eq(
  format('select severity, code, coalesce(flow_id, node_id), line from bpm.check_bpmn(%L)', replace(test.bpmn('p', E'\n<startEvent id="s"/>\n<complexGateway id="g" name="Any two"/>\n<endEvent id="e"/>\n'
    || E'<sequenceFlow id="f1" sourceRef="s" targetRef="g"/>\n<sequenceFlow id="f2" sourceRef="g" targetRef="x"/>\n<manualTask id="m"/>\n<sequenceFlow id="f3" sourceRef="g" targetRef="e"><conditionExpression>${(}</conditionExpression></sequenceFlow>'),
    ' isExecutable="true"', '')),
  $$values ('fault', 'UnsupportedElement', 'g', 3), ('fault', 'SequenceFlowTargetNotFound', 'f2', 6), ('fault', 'DeadEnd', 'm', 7), ('fault', 'OrphanNode', 'm', 7),
           ('fault', 'InvalidCondition', 'f3', 8), ('warning', 'ExecutableNotStated', 'p', 1)$$,
  'all faults of a file in one answer, with their lines');

-- warnings
select is(pg_temp.warnings(replace(pg_temp.line('<manualTask id="a"/>', 'a'), 'isExecutable="true"', '')), '{"ExecutableNotStated p"}', 'ExecutableNotStated');
select is(pg_temp.warnings(replace(pg_temp.line('<manualTask id="a"/>', 'a'), 'isExecutable="true"', 'isExecutable="false"')), '{"NotExecutable p"}', 'NotExecutable');
select is(pg_temp.warnings(pg_temp.line('<sendTask id="a"/>', 'a')), '{"UnknownDestination a"}', 'UnknownDestination');
select is(pg_temp.warnings(pg_temp.line('<callActivity id="a" calledElement="other"/>', 'a')), '{"CalledProcessMissing a"}', 'CalledProcessMissing');
select is(pg_temp.warnings(pg_temp.line('<callActivity id="a" calledElement="${other}"/>', 'a')), '{}', 'not of one that is decided when it is called');
select bpm.deploy_bpmn(test.linear('other', 'x')) is not null as deployed \gset
select is(pg_temp.warnings(pg_temp.line('<callActivity id="a" calledElement="other"/>', 'a')), '{}', 'nor of one that is deployed');
select is(pg_temp.warnings(pg_temp.line('<callActivity id="a" calledElement="other" xmlns:camunda="http://camunda.org/schema/1.0/bpmn" camunda:calledElementBinding="version" camunda:calledElementVersion="2"/>', 'a')), '{"CalledProcessMissing a"}', 'but of a version that is not');
select is(pg_temp.warnings(pg_temp.line('<callActivity id="a" calledElement="other" xmlns:camunda="http://camunda.org/schema/1.0/bpmn" camunda:calledElementBinding="deployment"/>', 'a')), '{"CalledProcessMissing a"}', 'and of one that should come along');
select is(pg_temp.warnings(replace(pg_temp.line('<callActivity id="a" calledElement="third"/>', 'a'), '</definitions>', substring(test.linear('third', 'x') from '<process.*</process>') || '</definitions>')), '{}', 'as this one does');
select is(pg_temp.warnings(pg_temp.choice('default="f2"', '<conditionExpression>x &gt; 5</conditionExpression>', '<conditionExpression>${x}</conditionExpression>')),
  '{"ConditionWithoutMarks f1","DefaultConditionIgnored f2"}', 'ConditionWithoutMarks, DefaultConditionIgnored');
select is(pg_temp.warnings(pg_temp.timer('<timeCycle>R3/PT10M</timeCycle>')), '{"CycleFiresOnce t"}', 'CycleFiresOnce');
select is(pg_temp.warnings(pg_temp.line('<serviceTask id="a"/>', 'a', '<boundaryEvent id="b" attachedToRef="a" cancelActivity="false"><errorEventDefinition errorRef="x"/></boundaryEvent>' || test.flows('b>e'), '<error id="x" name="x"/>')),
  '{"ErrorAlwaysInterrupts b","ErrorCodeMissing b"}', 'ErrorAlwaysInterrupts, ErrorCodeMissing');
select is(pg_temp.warnings(pg_temp.line('<manualTask id="a"/>', 'a', '<boundaryEvent id="b" attachedToRef="a"><errorEventDefinition/></boundaryEvent>' || test.flows('b>e'))), '{"BoundaryNeverFires b"}', 'BoundaryNeverFires');

-- strict, and who may ask
select is(pg_temp.faults(replace(pg_temp.line('<serviceTask id="a"><extensionElements><c:taskListener xmlns:c="http://camunda.org/schema/1.0/bpmn" class="x"/></extensionElements></serviceTask>', 'a'), '', ''), true),
  '{"ListenerIgnored a"}', 'ListenerIgnored is a fault when strict');
select throws_ok($$select * from bpm.check_bpmn(null)$$, 'BP400', null, 'BP400 nothing to check');
select throws_ok($$select * from bpm.check_bpmn('<a/>', p_tenant_id => 'nobody')$$, 'BP403', null, 'BP403 unknown tenant');

select * from finish();
rollback;
