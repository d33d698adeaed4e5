-- Elements to kinds, drawings to plain graphs, references of every style, and what is refused by name.
begin;
select plan(76);

create function pg_temp.kinds(p_body text, p_outside text default '') returns jsonb language sql as $$
  select jsonb_object_agg(n.node_id, n.kind)
    from bpm_core.compile_text(test.bpmn('p', p_body, p_outside), false, '') c cross join lateral unnest(c.nodes) n
$$;
create function pg_temp.flows_of(p_body text) returns text[] language sql as $$
  select array_agg(f.source_id || '/' || f.ord || ' ' || f.flow_id || ' ' || f.target_id || coalesce(' ' || f.condition::text, '') || case when f.is_default then ' default' else '' end
                   order by f.source_id collate "C", f.ord)
    from bpm_core.compile_text(test.bpmn('p', p_body), false, '') c cross join lateral unnest(c.flows) f
$$;
create function pg_temp.node(p_body text, p_outside text, p_id text) returns bpm_core.draft_node language sql as $$
  select n from bpm_core.compile_text(test.bpmn('p', p_body, p_outside), false, '') c cross join lateral unnest(c.nodes) n where n.node_id = p_id
$$;
create function pg_temp.refused(p_body text, p_outside text default '') returns text language sql as $$
  select string_agg(f.message, ' | ') from bpm_core.compile_text(test.bpmn('p', p_body, p_outside), false, '') c cross join lateral unnest(c.findings) f where f.code = 'UnsupportedElement'
$$;

-- one element, one kind
select is(pg_temp.kinds(x.body, '<message id="m" name="m"/><error id="x" errorCode="X"/><signal id="s" name="s"/>') ->> 'n', x.kind, x.kind || ': ' || x.body)
  from (values ('<startEvent id="n"/>', 'StartEvent'), ('<endEvent id="n"/>', 'EndEvent'), ('<endEvent id="n"><terminateEventDefinition/></endEvent>', 'TerminateEnd'),
               ('<endEvent id="n"><errorEventDefinition errorRef="x"/></endEvent>', 'ErrorEnd'), ('<task id="n"/>', 'PassThrough'), ('<manualTask id="n"/>', 'PassThrough'),
               ('<intermediateThrowEvent id="n"/>', 'PassThrough'), ('<serviceTask id="n"/>', 'ServiceTask'), ('<serviceTask id="n" bpm:approval="required"/>', 'ApprovalTask'),
               ('<userTask id="n"/>', 'UserTask'), ('<sendTask id="n"/>', 'SendTask'), ('<receiveTask id="n" messageRef="m"/>', 'MessageCatch'),
               ('<intermediateCatchEvent id="n"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>', 'MessageCatch'),
               ('<intermediateCatchEvent id="n"><timerEventDefinition><timeDuration>PT1S</timeDuration></timerEventDefinition></intermediateCatchEvent>', 'TimerCatch'),
               ('<serviceTask id="h"/><boundaryEvent id="n" attachedToRef="h"><timerEventDefinition><timeDuration>PT1S</timeDuration></timerEventDefinition></boundaryEvent>', 'TimerBoundary'),
               ('<serviceTask id="h"/><boundaryEvent id="n" attachedToRef="h"><errorEventDefinition/></boundaryEvent>', 'ErrorBoundary'),
               ('<receiveTask id="h" messageRef="m"/><boundaryEvent id="n" attachedToRef="h"><messageEventDefinition messageRef="m"/></boundaryEvent>', 'MessageBoundary'),
               ('<eventBasedGateway id="n"/>', 'EventGateway'),
               ('<intermediateCatchEvent id="n"><signalEventDefinition signalRef="s"/></intermediateCatchEvent>', 'SignalCatch'),
               ('<intermediateThrowEvent id="n"><signalEventDefinition signalRef="s"/></intermediateThrowEvent>', 'SignalThrow'),
               ('<endEvent id="n"><signalEventDefinition signalRef="s"/></endEvent>', 'SignalThrow'),
               ('<serviceTask id="h"/><boundaryEvent id="n" attachedToRef="h"><signalEventDefinition signalRef="s"/></boundaryEvent>', 'SignalBoundary')) x (body, kind);

-- gateways by their flows
select is(pg_temp.kinds(x.gateway || '<manualTask id="a"/><manualTask id="b"/><manualTask id="c"/><manualTask id="d"/>' || x.flows) - '{a,b,c,d}'::text[], x.kinds::jsonb, x.label)
  from (values
    ('<parallelGateway id="g"/>', test.flows('a>g', 'g>c'), '{"g": "PassThrough"}', 'parallel 1 to 1'),
    ('<parallelGateway id="g"/>', test.flows('a>g', 'g>c', 'g>d'), '{"g": "ParallelFork"}', 'parallel 1 to n'),
    ('<parallelGateway id="g"/>', test.flows('a>g', 'b>g', 'g>c'), '{"g": "ParallelJoin"}', 'parallel n to 1'),
    ('<parallelGateway id="g"/>', test.flows('a>g', 'b>g', 'g>c', 'g>d'), '{"g": "ParallelJoin", "g:split": "ParallelFork"}', 'parallel n to n is a join and a fork'),
    ('<exclusiveGateway id="g"/>', test.flows('a>g', 'b>g', 'g>c'), '{"g": "PassThrough"}', 'exclusive merge'),
    ('<exclusiveGateway id="g"/>', '<sequenceFlow id="f" sourceRef="g" targetRef="c"><conditionExpression>${x}</conditionExpression></sequenceFlow>', '{"g": "ExclusiveGateway"}', 'exclusive with one condition'),
    ('<exclusiveGateway id="g" default="f"/>', '<sequenceFlow id="f" sourceRef="g" targetRef="c"><conditionExpression>${x}</conditionExpression></sequenceFlow>', '{"g": "PassThrough"}', 'exclusive with its default alone'),
    ('<exclusiveGateway id="g" default="g_d"/>', test.flows('g>d') || '<sequenceFlow id="f" sourceRef="g" targetRef="c"><conditionExpression>${x}</conditionExpression></sequenceFlow>', '{"g": "ExclusiveGateway"}', 'exclusive choice'))
    x (gateway, flows, kinds, label);

-- lowering
select is(pg_temp.flows_of('<serviceTask id="a"/><manualTask id="b"/><manualTask id="c"/>' || test.flows('a>b', 'a>c')),
  '{"a/1 a:split-flow a:split","a:split/1 a_b b","a:split/2 a_c c"}', 'an implicit split becomes a fork behind the node');
select is(pg_temp.kinds('<serviceTask id="a"/><manualTask id="b"/><manualTask id="c"/>' || test.flows('a>b', 'a>c')) ->> 'a:split', 'ParallelFork', 'of kind fork');
select is(pg_temp.flows_of('<userTask id="a"/><manualTask id="b"/><sequenceFlow id="f" sourceRef="a" targetRef="b"><conditionExpression>${x &gt; 1}</conditionExpression></sequenceFlow>'),
  '{"a/1 a:choice-flow a:choice","a:choice/1 f b strict (+$.\"x\" > 1)"}', 'one conditional flow becomes a choice behind the node');
select is(pg_temp.flows_of('<userTask id="a" default="a_c"/><manualTask id="b"/><manualTask id="c"/>' || test.flows('a>c')
    || '<sequenceFlow id="f" sourceRef="a" targetRef="b"><conditionExpression>${x &gt; 1}</conditionExpression></sequenceFlow>'),
  '{"a/1 a:choice-flow a:choice","a:choice/1 f b strict (+$.\"x\" > 1)","a:choice/2 a_c c default"}', 'so does one with a default beside it');
select is(pg_temp.kinds('<userTask id="a"/><manualTask id="b"/><sequenceFlow id="f" sourceRef="a" targetRef="b"><conditionExpression>${x}</conditionExpression></sequenceFlow>') ->> 'a:choice', 'ExclusiveGateway', 'of kind exclusive');
select is(pg_temp.flows_of('<parallelGateway id="g"/><manualTask id="a"/><manualTask id="b"/>' || test.flows('a>g', 'b>g', 'g>a', 'g>b')),
  '{"a/1 a_g g","b/1 b_g g","g/1 g:split-flow g:split","g:split/1 g_a a","g:split/2 g_b b"}', 'a mixed gateway');
select is(pg_temp.flows_of('<exclusiveGateway id="g" default="d"/><manualTask id="a"/><sequenceFlow id="d" sourceRef="g" targetRef="a"/>'
    '<sequenceFlow id="f1" sourceRef="g" targetRef="a"><conditionExpression>${x}</conditionExpression></sequenceFlow>'
    '<sequenceFlow id="f2" sourceRef="g" targetRef="a"><conditionExpression>${empty y}</conditionExpression></sequenceFlow>') @> '{"g/3 d a default"}', true, 'the default flow comes last');

-- definitions, by reference and in place, with any prefix
select is((pg_temp.node('<endEvent id="n"><errorEventDefinition errorRef="tns:x"/></endEvent>', '<error id="x" errorCode="X-1"/>', 'n')).error_code, 'X-1', 'an error by qualified name');
select is((pg_temp.node('<serviceTask id="h"/><boundaryEvent id="n" attachedToRef="tns:h"><errorEventDefinition/></boundaryEvent>', '', 'n')).attached_to, 'h', 'a host by qualified name');
select is((pg_temp.node('<serviceTask id="h"/><boundaryEvent id="n" attachedToRef="h"><errorEventDefinition/></boundaryEvent>', '', 'n')).error_code, null, 'an error without reference catches all');
select row_eq($$select (n).kind::text, (n).timer_kind, (n).timer_rule from (select pg_temp.node('<intermediateCatchEvent id="n"><eventDefinitionRef>q:t</eventDefinitionRef></intermediateCatchEvent>',
    '<timerEventDefinition id="t"><timeDate>2030-01-01</timeDate></timerEventDefinition>', 'n') as n) x$$, row('TimerCatch'::text, 'Date'::text, '2030-01-01'::text), 'an event definition by reference');
select row_eq($$select (n).message_name, (n).correlation_path from (select pg_temp.node('<receiveTask id="n" messageRef="m"/>', '<message id="m" name="paid"/>', 'n') as n) x$$,
  row('paid'::text, null::text), 'a message by name; without a key it is the business key');
select is((pg_temp.node('<receiveTask id="n" messageRef="m"/>', '<message id="m"/>', 'n')).message_name, 'm', 'without a name its id');
select is((pg_temp.node(x.node, x.message, 'n')).correlation_path, 'order.id', 'correlation key: ' || x.node || x.message)
  from (values ('<receiveTask id="n" messageRef="m" bpm:correlationKey="order.id"/>', '<message id="m" name="m"/>'),
               ('<receiveTask id="n" messageRef="m"/>', '<message id="m" name="m" bpm:correlationKey="${order.id}"/>'),
               ('<receiveTask id="n" messageRef="m"/>', '<message id="m" name="m"><extensionElements><z:subscription xmlns:z="http://camunda.org/schema/zeebe/1.0" correlationKey="= order.id"/></extensionElements></message>'))
    x (node, message);
select row_eq($$select (n).timer_kind, (n).timer_rule, (n).timer_path from (select pg_temp.node(
    '<intermediateCatchEvent id="n"><timerEventDefinition><timeDuration>#{execution.getVariable("wait")}</timeDuration></timerEventDefinition></intermediateCatchEvent>', '', 'n') as n) x$$,
  row('Duration'::text, '${wait}'::text, 'wait'::text), 'a timer that names a variable keeps its path');
select is((pg_temp.node('<serviceTask id="h"/><boundaryEvent id="n" attachedToRef="h" cancelActivity="false"><errorEventDefinition/></boundaryEvent>', '', 'n')).interrupting, false, 'cancelActivity="false"');
select is((pg_temp.node('<laneSet><lane id="l" name="Outer"><flowNodeRef>n</flowNodeRef><childLaneSet><lane id="l2" name="Inner"><flowNodeRef> n </flowNodeRef></lane></childLaneSet></lane></laneSet><userTask id="n"/>', '', 'n')).lane,
  'Inner', 'the innermost lane');
select is(pg_temp.flows_of('<manualTask id="a"/><manualTask id="b"/><sequenceFlow sourceRef="a" targetRef="b"/>'), '{"a/1 flow:1 b"}', 'a flow without an id gets one');

-- an end event that throws has a plain end behind it
select is(pg_temp.flows_of('<task id="a"/><endEvent id="e"><signalEventDefinition/></endEvent>' || test.flows('a>e')), '{"a/1 a_e e","e/1 e:end-flow e:end"}', 'an end event that throws');
select is(pg_temp.kinds('<endEvent id="e"><signalEventDefinition/></endEvent>'), '{"e": "SignalThrow", "e:end": "EndEvent"}'::jsonb, 'throws, and then ends');
select is((pg_temp.node('<endEvent id="n"><signalEventDefinition signalRef="s"/></endEvent>', '<signal id="s" name="stop all"/>', 'n')).message_name, 'stop all', 'the signal by name');

-- event-based gateways and boundary events of a wrong shape
create function pg_temp.found(p_code text, p_body text) returns text language sql as $$
  select string_agg(f.message, ' | ') from bpm_core.compile_text(test.bpmn('p', p_body, '<message id="m" name="m"/>'), false, '') c cross join lateral unnest(c.findings) f where f.code = p_code
$$;
create function pg_temp.gate(p_attributes text, p_body text) returns text language sql as $$
  select pg_temp.found('EventGatewayInvalidShape', '<startEvent id="s"/><eventBasedGateway id="g" ' || p_attributes || '/><intermediateCatchEvent id="c"><messageEventDefinition messageRef="m"/></intermediateCatchEvent><receiveTask id="r" messageRef="m"/><endEvent id="e"/>'
    || test.flows('s>g', 'g>c', 'c>e', 'r>e') || p_body)
$$;
select is(pg_temp.gate('', test.flows('g>r')), null, 'a catch event and a receive task behind an event-based gateway');
select is(pg_temp.gate('', test.flows('g>r') || '<serviceTask id="t"/>' || test.flows('g>t', 't>e')), 'eventBasedGateway "g": it leads to serviceTask "t", which waits for nothing.', 'a task');
select is(pg_temp.gate('', test.flows('g>r', 'g>e')), 'eventBasedGateway "g": it leads to endEvent "e", which waits for nothing.', 'an end');
select is(pg_temp.gate('', test.flows('g>r') || '<task id="t"/>' || test.flows('s>t', 't>c')), 'eventBasedGateway "g": it leads to intermediateCatchEvent "c", which something else leads to as well.', 'an event that is entered otherwise');
select is(pg_temp.gate('', test.flows('g>r') || test.timer('late', '<timeDuration>PT1S</timeDuration>', 'r') || test.flows('late>e')), 'eventBasedGateway "g": it leads to receiveTask "r", which has boundary events.', 'a receive task with boundary events');
select is(pg_temp.gate('', '<sequenceFlow id="f" sourceRef="g" targetRef="r"><conditionExpression>${x}</conditionExpression></sequenceFlow>'), 'eventBasedGateway "g": it waits for events, so its flows have no condition and none is the default.', 'a condition');
select is(pg_temp.gate('default="g_c"', test.flows('g>r')), 'eventBasedGateway "g": it waits for events, so its flows have no condition and none is the default.', 'a default');
select is(pg_temp.refused('<eventBasedGateway id="g" instantiate="true"/>'), 'eventBasedGateway "g" starts the process, which only a start event does here.', 'one that starts the process');
select is(pg_temp.found('BoundaryNeverFires', '<receiveTask id="r" messageRef="m"/><boundaryEvent id="b" attachedToRef="r"><errorEventDefinition/></boundaryEvent>'), 'boundaryEvent "b" is attached to receiveTask "r", which throws no error; it never fires.', 'an error boundary on a receive task');
select is(pg_temp.found('BoundaryNeverFires', '<task id="r"/><boundaryEvent id="b" attachedToRef="r"><messageEventDefinition messageRef="m"/></boundaryEvent>'), 'boundaryEvent "b" is attached to task "r", which is passed at once; it never fires.', 'a message boundary on what is passed at once');

select is(pg_temp.found('UnknownReference', '<intermediateThrowEvent id="t"><signalEventDefinition/></intermediateThrowEvent>'), 'intermediateThrowEvent "t" does not say which signal.', 'a signal event without a signal');
select is(pg_temp.refused('<intermediateThrowEvent id="t"><signalEventDefinition signalRef="s"/></intermediateThrowEvent>', '<signal id="s" name="${which}"/>'), 'intermediateThrowEvent "t" has a signal whose name is an expression, which is not executed.', 'a name that is an expression');

-- refused, by its own id and name
select is(pg_temp.refused('<complexGateway id="g" name="Any two"/>'), 'complexGateway "g" (Any two) is not executed.', 'complex gateway');
select is(pg_temp.refused('<adHocSubProcess id="h"><task id="t"/></adHocSubProcess>'), 'adHocSubProcess "h" is not executed.', 'ad-hoc sub-process: itself, not what is in it');
select is(pg_temp.refused('<subProcess id="u"><startEvent id="us"/><complexGateway id="ug"/></subProcess>'), 'complexGateway "ug" is not executed.', 'in a sub-process');
select is(pg_temp.refused('<boundaryEvent id="b" name="Help" attachedToRef="t"><linkEventDefinition/></boundaryEvent>'), 'boundaryEvent "b" (Help) of kind link is not executed.', 'an event of a kind');
select is(pg_temp.refused('<intermediateCatchEvent id="c" parallelMultiple="true"><timerEventDefinition/><messageEventDefinition/></intermediateCatchEvent>'), 'intermediateCatchEvent "c" has several event definitions that all have to happen, which is not executed.', 'several definitions');
select is(pg_temp.refused('<intermediateCatchEvent id="c"/>'), 'intermediateCatchEvent "c" has no event definition and is not executed.', 'none');
select is(pg_temp.found('InvalidCompensation', '<serviceTask id="t" isForCompensation="true"/>'), 'serviceTask "t" is a compensation handler, but no association leads to it.', 'compensation handler');
select is(pg_temp.refused('<task id="t"/><hyperGateway id="h"/>'), 'hyperGateway "h" is no element of BPMN that is known here.', 'an element nobody knows');
select is(pg_temp.refused('<dataObject id="d"/><dataObjectReference id="r"/><dataStoreReference id="s"/><textAnnotation id="t"/><association id="a"/><group id="g"/><ioSpecification/><property id="p2"/><laneSet/>'), null,
  'data, annotations, groups and lanes are kept without a word');

-- Multi-instance and loops: the activity goes into a node that has its flows and boundary events
\set looped '<startEvent id="s"/><subProcess id="x" default="x_b"><multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics><startEvent id="xs"/><endEvent id="xe"/><sequenceFlow id="xs_xe" sourceRef="xs" targetRef="xe"/><subProcess id="ev" triggeredByEvent="true"><startEvent id="evs"><errorEventDefinition/></startEvent><endEvent id="eve"/><sequenceFlow id="ev_f" sourceRef="evs" targetRef="eve"/></subProcess></subProcess><boundaryEvent id="late" attachedToRef="x"><timerEventDefinition><timeDuration>PT1S</timeDuration></timerEventDefinition></boundaryEvent><task id="a"><standardLoopCharacteristics loopMaximum="2"/></task><endEvent id="b"/><endEvent id="e"/><sequenceFlow id="s_x" sourceRef="s" targetRef="x"/><sequenceFlow id="x_a" sourceRef="x" targetRef="a"><conditionExpression>${go}</conditionExpression></sequenceFlow><sequenceFlow id="x_b" sourceRef="x" targetRef="b"/><sequenceFlow id="a_e" sourceRef="a" targetRef="e"/><sequenceFlow id="late_e" sourceRef="late" targetRef="e"/>'
select is((select array_agg(concat_ws(' ', n.node_id, n.kind, n.scope_id, n.attached_to) order by n.node_id collate "C")
             from bpm_core.compile_text(test.bpmn('p', :'looped'), false, '') c cross join lateral unnest(c.nodes) n where n.node_id ~ '^(x|a|late|ev)'),
  '{"a PassThrough a:loop","a:loop StandardLoop","a:loop:end ItemEnd a:loop","a:loop:start StartEvent a:loop","ev EventSubProcess x","ev:end EndEvent x","eve EndEvent ev","evs ErrorBoundary ev x","late TimerBoundary x:multi","x SubProcess x:multi","x:multi MultiInstance","x:multi:choice ExclusiveGateway","x:multi:end ItemEnd x:multi","x:multi:start StartEvent x:multi","xe EndEvent x","xs StartEvent x"}', 'nodes around, starts and ends inside');
select is(pg_temp.flows_of(:'looped'), '{"a/1 a:loop:out a:loop:end","a:loop/1 a_e e","a:loop:start/1 a:loop:in a","ev/1 ev:end-flow ev:end","evs/1 ev_f eve","late/1 late_e e","s/1 s_x x:multi","x/1 x:multi:out x:multi:end","x:multi/1 x:multi:choice-flow x:multi:choice","x:multi:choice/1 x_a a:loop strict (exists ($?(exists (@.\"go\"))) && $.\"go\" == true)","x:multi:choice/2 x_b b default","x:multi:start/1 x:multi:in x","xs/1 xs_xe xe"}', 'flows lead to and leave the nodes around');

select * from finish();
rollback;
