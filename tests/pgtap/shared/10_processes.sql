-- Processes for tests, as BPMN files. Loaded once into the test database, beside pgTAP; test files call them inside their own transaction.
create schema if not exists test;

-- A file with one process; p_body are its elements, p_messages those outside of it.
create or replace function test.bpmn(p_code text, p_body text, p_outside text default '')
returns text
language sql
as $$
  select format(
    '<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:bpm="urn:pgbpm:bpmn:1" targetNamespace="test">%s'
    '<process id="%s" isExecutable="true">%s</process></definitions>', p_outside, p_code, p_body)
$$;

-- Sequence flows from pairs: test.flows('{a,b}', '{b,c}') is a -> b, b -> c. Their ids are source_target.
create or replace function test.flows(variadic p_pairs text[])
returns text
language sql
as $$
  select string_agg(format('<sequenceFlow id="%1$s_%2$s" sourceRef="%1$s" targetRef="%2$s"/>', split_part(x.pair, '>', 1), split_part(x.pair, '>', 2)), '' order by x.n)
    from unnest(p_pairs) with ordinality x(pair, n)
$$;

-- start -> one service task per type -> end; the node ids are the types.
create or replace function test.linear(p_code text, variadic p_types text[] default '{a,b}')
returns text
language sql
as $$
  select test.bpmn(p_code,
    '<startEvent id="start"/>'
    || (select string_agg(format('<serviceTask id="%1$s" bpm:type="%1$s"/>', t.type), '' order by t.n) from unnest(p_types) with ordinality t(type, n))
    || '<endEvent id="end"/>'
    || (select string_agg(format('<sequenceFlow id="f%s" sourceRef="%s" targetRef="%s"/>', s.n, s.node, s.next), '' order by s.n)
          from (select x.n, x.node, lead(x.node) over (order by x.n) as next
                  from unnest(array['start'] || p_types || array['end']) with ordinality x(node, n)) s
         where s.next is not null))
$$;

-- One of everything: a task, a choice, a gated task with an error boundary, a fork; branch one sends a command and waits for a message,
-- branch two is a task with error and timer boundaries and waits a second; a join, a user task, an end.
create or replace function test.everything(p_code text)
returns text
language sql
as $$
  select test.bpmn(p_code,
    '<startEvent id="start"/>'
    '<serviceTask id="reserve" bpm:type="reserve" bpm:retries="2"/>'
    '<exclusiveGateway id="big" default="big_merge"/>'
    '<serviceTask id="release" bpm:type="release-gated"/>'
    '<boundaryEvent id="rejected" attachedToRef="release"><errorEventDefinition errorRef="ApprovalRejected"/></boundaryEvent><endEvent id="refused"/>'
    '<exclusiveGateway id="merge"/>'
    '<parallelGateway id="fork"/>'
    '<sendTask id="book" bpm:type="courier"/>'
    '<intermediateCatchEvent id="picked"><messageEventDefinition messageRef="m_picked"/></intermediateCatchEvent>'
    '<serviceTask id="charge" bpm:type="charge"/>'
    '<boundaryEvent id="declined" attachedToRef="charge"><errorEventDefinition errorRef="e_declined"/></boundaryEvent>'
    '<endEvent id="stop"><terminateEventDefinition/></endEvent>'
    '<boundaryEvent id="slow" attachedToRef="charge" cancelActivity="false"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>'
    '<serviceTask id="remind" bpm:type="remind"/><endEvent id="reminded"/>'
    '<intermediateCatchEvent id="pause"><timerEventDefinition><timeDuration>PT1S</timeDuration></timerEventDefinition></intermediateCatchEvent>'
    '<parallelGateway id="join"/>'
    '<userTask id="look"/>'
    '<endEvent id="end"/>'
    '<sequenceFlow id="big_release" sourceRef="big" targetRef="release"><conditionExpression>${amount > 1000}</conditionExpression></sequenceFlow>'
    || test.flows('start>reserve', 'reserve>big', 'big>merge', 'release>merge', 'rejected>refused', 'merge>fork', 'fork>book', 'book>picked', 'picked>join',
                  'fork>charge', 'declined>stop', 'slow>remind', 'remind>reminded', 'charge>pause', 'pause>join', 'join>look', 'look>end'),
    '<message id="m_picked" name="picked-up"/><error id="e_declined" errorCode="card-declined"/><error id="ApprovalRejected" errorCode="ApprovalRejected"/>')
$$;

-- Deploys test.everything with its destination and its gate.
create or replace function test.deploy_everything(p_code text default 'everything')
returns void
language plpgsql
as $$
begin
  perform bpm.set_setting('engine.approval_required_task_types', '["release-gated"]');
  perform bpm.register_destination('courier', 'http', '{"url": "http://courier.example/"}');
  perform bpm.deploy_bpmn(test.everything(p_code));
end
$$;
