-- Compensation: what was completed is undone in reverse order, one at a time, with what was seen when it was done.
begin;
select plan(72);
create function pg_temp.undone(p_id text, p_more text default '') returns text language sql as
$$ select test.service(p_id) || format('<boundaryEvent id="%1$s-b" attachedToRef="%1$s"><compensateEventDefinition/></boundaryEvent><serviceTask id="un-%1$s" bpm:type="un-%1$s" isForCompensation="true"/><association id="%1$s-as" sourceRef="%1$s-b" targetRef="un-%1$s"/>', p_id) $$;
create function pg_temp.sub(p_id text, p_inside text, p_more text default '') returns text language sql as
$$ select format('<subProcess id="%1$s" %3$s><startEvent id="%1$s-start"/>%2$s<endEvent id="%1$s-end"/></subProcess>', p_id, p_inside, p_more) $$;
create function pg_temp.throw(p_id text, p_more text default '') returns text language sql as
$$ select format('<intermediateThrowEvent id="%s"><compensateEventDefinition %s/></intermediateThrowEvent>', p_id, p_more) $$;
create function pg_temp.ledger(p uuid) returns text[] language sql as
$$ select coalesce(array_agg(c.node_id || ' ' || c.status || case when c.is_running then ' running' else '' end order by c.position), '{}') from bpm.compensation c where c.process_instance_id = p $$;
-- Claims one task of a type and completes it; returns the variables its worker saw.
create function pg_temp.seen(p_type text, p_variables jsonb default '{}') returns jsonb language plpgsql as $$
declare
  r_task record;
begin
  select c.task_id, c.fencing_token, c.variables into r_task from bpm.claim_tasks('w', array[p_type]) c;
  perform bpm.complete_task(r_task.task_id, r_task.fencing_token, p_variables);
  return r_task.variables;
end $$;
create function pg_temp.replayed(p uuid) returns boolean language sql as
$$ select not exists (select r.token_id::text, r.node_id, r.state from bpm.replay(test.workflow(p)) r
                      except select k.id::text, k.node_id, k.state::text from bpm_core.token k where k.workflow_instance_id = test.workflow(p)) $$;

-- A, B, then both undone: B first, then A, each waits for the one before; the thrower waits for both
select test.deploy('two', pg_temp.undone('a') || pg_temp.undone('b') || pg_temp.throw('back') || test.service('after') || '<endEvent id="end"/>' || test.flows('start>a', 'a>b', 'b>back', 'back>after', 'after>end')) \gset
select test.start('two', '{"x": 1}') as a \gset
select is(pg_temp.ledger(:'a'), '{}', 'nothing done, nothing recorded');
select test.complete_next('a', '{"x": 2, "bill": "A"}') as done \gset
select is(pg_temp.ledger(:'a') || test.standing(:'a'), '{"a Pending","b Waiting"}', 'a is completed and recorded');
select test.complete_next('b', '{"x": 3, "bill": "B"}') as done \gset
select is(pg_temp.ledger(:'a') || test.standing(:'a'), '{"a Pending","b Pending running","back Waiting","un-b Waiting"}', 'b is undone first, the thrower waits');
select ok(pg_temp.replayed(:'a'), 'replay');
select is(test.broken(), '{}', 'and nothing is broken meanwhile');
select is((select t.mode::text from bpm_core.token t where t.workflow_instance_id = test.workflow(:'a') and t.node_id = 'un-b'), 'Compensation', 'its token says what it is for');
select bpm.set_variables(:'a', '{"x": 99}') is not null as set \gset
select is(pg_temp.seen('un-b', '{"x": 50, "credit": 1}'), '{"x": 3, "bill": "B"}', 'it sees what b left behind, not what came after');
select is(pg_temp.ledger(:'a') || test.standing(:'a'), '{"a Pending running","b Completed","back Waiting","un-a Waiting"}', 'then a');
select is(bpm.get_variables(:'a'), '{"x": 50, "bill": "B", "credit": 1}', 'what a handler writes is written');
select is(pg_temp.seen('un-a'), '{"x": 2, "bill": "A", "credit": 1}', 'and the next sees its own snapshot, over what is there');
select is(pg_temp.ledger(:'a') || test.standing(:'a'), '{"a Completed","b Completed","after Waiting"}', 'both are undone: the thrower goes on');
select ok(pg_temp.replayed(:'a'), 'replay');
select test.complete_next('after') as done \gset
select is(test.status(:'a') || array_to_string(test.history(:'a', 'CompensationRecorded') || test.history(:'a', 'CompensationStarted') || test.history(:'a', 'CompensationCompleted'), ','),
  'CompletedCompensationRecorded 2,CompensationStarted 2,CompensationCompleted 2', 'history has all of it');

-- Only what was completed, never what failed: A, B, C; C fails (A-17)
select test.deploy('fails', pg_temp.undone('a') || pg_temp.undone('b') || pg_temp.undone('c') || '<boundaryEvent id="bad" attachedToRef="c"><errorEventDefinition/></boundaryEvent><endEvent id="gone"><compensateEventDefinition/></endEvent><endEvent id="end"/>'
  || test.flows('start>a', 'a>b', 'b>c', 'c>end', 'bad>gone')) \gset
select test.start('fails') as b \gset
select test.complete_next('a') as done \gset
select test.complete_next('b') as done \gset
select test.throw_next('c', 'no') as thrown \gset
select is(pg_temp.ledger(:'b') || test.standing(:'b'), '{"a Pending","b Pending running","gone Waiting","un-b Waiting"}', 'c is not in the ledger');
select test.complete_next('un-b') as done \gset
select test.complete_next('un-a') as done \gset
select is(test.status(:'b') || pg_temp.ledger(:'b')::text, 'Completed{"a Completed","b Completed"}', 'the end event throws, then ends');

-- Nothing to compensate; handlers in which nothing waits
select test.deploy('none', pg_temp.throw('back') || '<endEvent id="end"/>' || test.flows('start>back', 'back>end')) \gset
select test.start('none') as c \gset
select is(test.status(:'c'), 'Completed', 'nothing to compensate: passed');
select test.deploy('fast', '<task id="t"/><boundaryEvent id="tb" attachedToRef="t"><compensateEventDefinition/></boundaryEvent><task id="un-t" isForCompensation="true"/><association id="as" sourceRef="un-t" targetRef="tb"/>'
  || pg_temp.throw('back') || pg_temp.throw('again') || '<endEvent id="end"/>' || test.flows('start>t', 't>back', 'back>again', 'again>end')) \gset
select test.start('fast') as d \gset
select is(test.status(:'d') || pg_temp.ledger(:'d')::text || array_to_string(test.history(:'d', 'CompensationStarted'), ','), 'Completed{"t Completed"}CompensationStarted 1', 'all in one command, and never twice');

-- One named activity; again for the same finds nothing
select test.deploy('named', pg_temp.undone('a') || pg_temp.undone('b') || pg_temp.throw('only-a', 'activityRef="a"') || pg_temp.throw('again', 'activityRef="a"') || pg_temp.throw('rest') || '<endEvent id="end"/>'
  || test.flows('start>a', 'a>b', 'b>only-a', 'only-a>again', 'again>rest', 'rest>end')) \gset
select test.start('named') as e \gset
select test.complete_next('a') as done \gset
select test.complete_next('b') as done \gset
select is(test.standing(:'e'), '{"only-a Waiting","un-a Waiting"}', 'only the activity named');
select test.complete_next('un-a') as done \gset
select is(test.standing(:'e'), '{"rest Waiting","un-b Waiting"}', 'never twice; the rest afterwards');
select test.complete_next('un-b') as done \gset
select is(test.status(:'e'), 'Completed', 'done');

-- A loop: each time it was done
select test.deploy('loop', '<exclusiveGateway id="m"/>' || pg_temp.undone('a') || '<exclusiveGateway id="x" default="x_m"/>' || pg_temp.throw('back') || '<endEvent id="end"/><sequenceFlow id="x_back" sourceRef="x" targetRef="back"><conditionExpression>${n == 3}</conditionExpression></sequenceFlow>'
  || test.flows('start>m', 'm>a', 'a>x', 'x>m', 'back>end')) \gset
select test.start('loop') as f \gset
select test.complete_next('a', jsonb_build_object('n', n)) from generate_series(1, 3) n;
select is(pg_temp.ledger(:'f'), '{"a Pending","a Pending","a Pending running"}', 'done three times');
create temp table seen (n jsonb);
insert into seen select pg_temp.seen('un-a') -> 'n' from generate_series(1, 3);
select is((select array_agg(s.n) from seen s), '{3,2,1}'::jsonb[], 'undone three times, the last one first');
select is(test.status(:'f'), 'Completed', 'done');

-- Inside completed sub-processes; one with a handler of its own is undone by that alone
select test.deploy('nested', pg_temp.sub('s', pg_temp.undone('a') || pg_temp.undone('b') || test.flows('s-start>a', 'a>b', 'b>s-end')) || pg_temp.undone('c')
  || pg_temp.sub('box', pg_temp.undone('d') || test.flows('box-start>d', 'd>box-end')) || '<boundaryEvent id="box-b" attachedToRef="box"><compensateEventDefinition/></boundaryEvent>'
  || pg_temp.sub('un-box', test.service('x') || test.service('y') || test.flows('un-box-start>x', 'x>y', 'y>un-box-end'), 'isForCompensation="true"') || '<association id="box-as" sourceRef="box-b" targetRef="un-box"/>'
  || '<userTask id="ask"/>' || pg_temp.throw('back') || '<endEvent id="end"/>' || test.flows('start>s', 's>c', 'c>box', 'box>ask', 'ask>back', 'back>end')) \gset
select test.start('nested') as g \gset
select test.complete_next(t) from unnest('{a,b,c,d}'::text[]) t;
select is(pg_temp.ledger(:'g'), '{"a Pending","b Pending","c Pending","d Pending","box Pending"}', 'in the order of completion');
select test.complete_user(:'g') as done \gset
select is(test.standing(:'g'), '{"back Waiting","un-box Waiting","x Waiting"}', 'the handler of a sub-process can be one');
select ok(pg_temp.replayed(:'g') and test.broken() = '{}', 'replay');
select test.complete_next('x', '{"in": 1}') as done \gset
select is(pg_temp.seen('y'), '{"in": 1}', 'its steps see what the ones before wrote');
select is(test.standing(:'g'), '{"back Waiting","un-c Waiting"}', 'd was part of box');
select test.complete_next('un-c') as done \gset
select is(test.standing(:'g'), '{"back Waiting","un-b Waiting"}', 'inside a completed sub-process, in reverse order');
select test.complete_next('un-b') as done \gset
select test.complete_next('un-a') as done \gset
select is(test.status(:'g') || pg_temp.ledger(:'g')::text, 'Completed{"a Completed","b Completed","c Completed","d Pending","box Completed"}', 'done');

-- A sub-process named by a throw event; one that is not completed is left alone
select test.deploy('part', '<parallelGateway id="fork"/>' || pg_temp.sub('s', pg_temp.undone('a') || test.flows('s-start>a', 'a>s-end')) || pg_temp.sub('slow', pg_temp.undone('d') || test.service('wait') || test.flows('slow-start>d', 'd>wait', 'wait>slow-end'))
  || pg_temp.undone('c') || pg_temp.throw('back', 'activityRef="s"') || pg_temp.throw('all') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>fork', 'fork>slow', 'fork>s', 's>c', 'c>back', 'back>all', 'all>end', 'slow>end2')) \gset
select test.start('part') as h \gset
select test.complete_next(t) from unnest('{d,a,c}'::text[]) t;
select is(test.standing(:'h'), '{"back Waiting","slow Waiting","un-a Waiting","wait Waiting"}', 'what is inside of the sub-process named');
select test.complete_next('un-a') as done \gset
select test.complete_next('un-c') as done \gset
select is(test.standing(:'h') || pg_temp.ledger(:'h'), '{"slow Waiting","wait Waiting","d Pending","a Completed","c Completed"}', 'a sub-process still at work is not undone');
select test.complete_next('wait') as done \gset
select is(test.status(:'h'), 'Completed', 'done');

-- An error event sub-process compensates the scope around
select test.deploy('evt', pg_temp.sub('s', pg_temp.undone('a') || pg_temp.undone('b') || test.service('c') || test.flows('s-start>a', 'a>b', 'b>c', 'c>s-end')
  || '<subProcess id="es" triggeredByEvent="true"><startEvent id="on"><errorEventDefinition/></startEvent>' || pg_temp.throw('back') || test.service('tell') || '<endEvent id="es-end"/>' || test.flows('on>back', 'back>tell', 'tell>es-end') || '</subProcess>')
  || '<endEvent id="end"/>' || test.flows('start>s', 's>end')) \gset
select test.start('evt') as i \gset
select test.complete_next(t) from unnest('{a,b}'::text[]) t;
select test.throw_next('c', 'no') as thrown \gset
select is(test.standing(:'i'), '{"back Waiting","es Waiting","s Waiting","un-b Waiting"}', 'an event sub-process undoes what is around it');
select ok(pg_temp.replayed(:'i') and test.broken() = '{}', 'replay');
select test.complete_next(t) from unnest('{un-b,un-a,tell}'::text[]) t;
select is(test.status(:'i'), 'Completed', 'done');

-- A compensation event sub-process replaces the order: a first, b not at all, then one of its own
select test.deploy('own', pg_temp.sub('s', pg_temp.undone('a') || pg_temp.undone('b') || test.flows('s-start>a', 'a>b', 'b>s-end')
  || '<subProcess id="cs" triggeredByEvent="true"><startEvent id="on"><compensateEventDefinition/></startEvent>' || pg_temp.throw('back', 'activityRef="a"') || test.service('mine') || '<endEvent id="cs-end"/>' || test.flows('on>back', 'back>mine', 'mine>cs-end') || '</subProcess>')
  || pg_temp.undone('c') || pg_temp.throw('all') || test.service('after') || '<endEvent id="end"/>' || test.flows('start>s', 's>c', 'c>all', 'all>after', 'after>end')) \gset
select test.start('own') as j \gset
select test.complete_next(t) from unnest('{a,b,c}'::text[]) t;
select test.complete_next('un-c') as done \gset
select is(test.standing(:'j'), '{"all Waiting","back Waiting","cs Waiting","un-a Waiting"}', 'it begins in place of the handlers inside');
select ok(pg_temp.replayed(:'j') and test.broken() = '{}', 'replay');
select test.complete_next(t) from unnest('{un-a,mine}'::text[]) t;
select is(test.standing(:'j') || pg_temp.ledger(:'j'), '{"after Waiting","a Completed","b Pending","s Completed","c Completed"}', 'what it does not undo stays');
select test.complete_next('after') as done \gset

-- A handler that fails halts: an incident; resolving it goes on
select test.start('two') as k \gset
select test.complete_next(t) from unnest('{a,b}'::text[]) t;
select test.fail_next('un-b', false) as failed \gset
select is(test.standing(:'k') || pg_temp.ledger(:'k'), '{"back Waiting","un-b Failed","a Pending","b Pending running"}', 'halts');
select is(test.broken(), '{}', 'nothing is broken');
select (bpm.resolve_incident(i.incident_id)).outcome from bpm.incident i where i.process_instance_id = :'k' and i.state = 'Open';
select test.complete_next(t) from unnest('{un-b,un-a}'::text[]) t;
select is(test.standing(:'k') || pg_temp.ledger(:'k'), '{"after Waiting","a Completed","b Completed"}', 'and goes on');
select test.complete_next('after') as done \gset

-- A BPMN error of a handler goes outwards from the thrower: that record is Failed, the rest stays
select test.deploy('throws', pg_temp.sub('s', pg_temp.undone('a') || pg_temp.undone('b') || pg_temp.throw('back') || test.flows('s-start>a', 'a>b', 'b>back', 'back>s-end')) || '<boundaryEvent id="bad" attachedToRef="s"><errorEventDefinition/></boundaryEvent>'
  || test.service('mend') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>s', 's>end', 'bad>mend', 'mend>end2')) \gset
select test.start('throws') as l \gset
select test.complete_next(t) from unnest('{a,b}'::text[]) t;
select test.throw_next('un-b', 'no') as thrown \gset
select is(test.standing(:'l') || pg_temp.ledger(:'l') || test.history(:'l', 'CompensationFailed'), '{"mend Waiting","a Pending","b Failed","CompensationFailed 1"}', 'caught outside');
select ok(pg_temp.replayed(:'l') and test.broken() = '{}', 'replay');
select test.complete_next('mend') as done \gset
select test.start('two') as m \gset
select test.complete_next(t) from unnest('{a,b}'::text[]) t;
select test.throw_next('un-b', 'no') as thrown \gset
select is((select i.code || ' ' || i.node_id from bpm.incident i where i.process_instance_id = :'m' and i.state = 'Open') || pg_temp.ledger(:'m')::text, 'UncaughtError un-b{"a Pending","b Pending running"}', 'caught by nobody: halts');

-- Cancelled in the middle; interrupted in the middle, then undone by another
select bpm.cancel_process(:'m') is not null as gone \gset
select is(test.status(:'m') || pg_temp.ledger(:'m')::text, 'Cancelled{"a Pending","b Pending"}', 'cancelled: the records stay');
select is(test.broken(), '{}', 'nothing is broken');
select test.deploy('timed', pg_temp.sub('s', pg_temp.undone('a') || test.flows('s-start>a', 'a>s-end')) || pg_temp.sub('u', pg_temp.throw('x1') || test.flows('u-start>x1', 'x1>u-end')) || pg_temp.undone('b') || pg_temp.throw('back') || '<endEvent id="end"/>'
  || test.flows('start>s', 's>u', 'u>b', 'b>back', 'back>end')) \gset
select test.start('timed') as n \gset
select test.complete_next(t) from unnest('{a,b}'::text[]) t;
select is(test.standing(:'n'), '{"back Waiting","un-b Waiting"}', 'a throw inside undoes nothing outside');
select test.complete_next(t) from unnest('{un-b,un-a}'::text[]) t;
select is(test.status(:'n'), 'Completed', 'done');

-- Two throwers at once: each record is undone by one of them
select test.deploy('both', pg_temp.undone('a') || pg_temp.undone('b') || '<parallelGateway id="fork"/>' || pg_temp.throw('one', 'activityRef="a"') || pg_temp.throw('two') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>a', 'a>b', 'b>fork', 'fork>one', 'fork>two', 'one>end', 'two>end2')) \gset
select test.start('both') as o \gset
select test.complete_next(t) from unnest('{a,b}'::text[]) t;
select is(test.standing(:'o'), '{"one Waiting","two Waiting","un-a Waiting","un-b Waiting"}', 'side by side');
select test.complete_next(t) from unnest('{un-a,un-b}'::text[]) t;
select is(test.status(:'o') || pg_temp.ledger(:'o')::text, 'Completed{"a Completed","b Completed"}', 'each once');

-- Conditional flows behind an activity that can be undone; several instances in one call
select test.deploy('cond', pg_temp.undone('a') || test.service('hi') || test.service('lo') || '<endEvent id="end"/><endEvent id="end2"/><sequenceFlow id="a_hi" sourceRef="a" targetRef="hi"><conditionExpression>${n == 1}</conditionExpression></sequenceFlow><sequenceFlow id="a_lo" sourceRef="a" targetRef="lo"><conditionExpression>${n == 2}</conditionExpression></sequenceFlow>' || test.flows('start>a', 'hi>end', 'lo>end2')) \gset
select test.start('cond') as p \gset
select test.complete_next('a', '{"n": 2}') as done \gset
select is(test.standing(:'p') || pg_temp.ledger(:'p'), '{"lo Waiting","a Pending"}', 'the choice stands behind the mark');
select count(test.start('fails')) from generate_series(1, 5);
select count(*) as done from bpm.complete_tasks((select jsonb_agg(jsonb_build_object('task_id', c.task_id, 'fencing_token', c.fencing_token)) from bpm.claim_tasks('w', '{a}', 10) c)) \gset
select is((select count(*) from bpm.compensation c where c.node_id = 'a' and c.status = 'Pending' and c.process_instance_id <> all (array[:'p', :'l', :'m']::uuid[])), 5::bigint, 'several at once');

-- Multi-instance: each item has its record, and its own variables; a handler for many; what is still going on is not undone
create function pg_temp.each(p_more text default '') returns text language sql as
$$ select format('<multiInstanceLoopCharacteristics bpm:collection="${list}" bpm:elementVariable="item" %s/>', p_more) $$;
select test.deploy('each', '<parallelGateway id="fork"/>' || replace(pg_temp.undone('a'), test.service('a'), '<serviceTask id="a" bpm:type="a">' || pg_temp.each('isSequential="true"') || '</serviceTask>') || pg_temp.undone('z') || test.service('go')
  || pg_temp.throw('early') || pg_temp.throw('back') || '<endEvent id="end"/><endEvent id="end2"/><userTask id="ask"/>' || test.flows('start>z', 'z>fork', 'fork>a', 'a>ask', 'ask>back', 'back>end', 'fork>go', 'go>early', 'early>end2')) \gset
select test.start('each', '{"list": [1, 2, 3]}') as q \gset
select test.complete_next(t) is not null as done from unnest('{z,a,go}'::text[]) t;
select is(test.standing(:'q')::text || pg_temp.ledger(:'q')::text, '{"a Waiting","a:multi Waiting","early Waiting","un-z Waiting"}{"z Pending running","a Pending"}', 'one item is done, the activity is not');
select test.complete_next(t) is not null as done from unnest('{un-z,a,a}'::text[]) t;
select test.complete_user(:'q') is not null as done \gset
select ok(pg_temp.replayed(:'q') and test.broken() = '{}', 'replay');
select is(array[pg_temp.seen('un-a') -> 'item', pg_temp.seen('un-a') -> 'item', pg_temp.seen('un-a') -> 'item'], '{3,2,1}'::jsonb[], 'each item by itself, the last one first, with what it was about');
select is(test.status(:'q') || pg_temp.ledger(:'q')::text, 'Completed{"z Completed","a Completed","a Completed","a Completed"}', 'done');
select test.deploy('many', pg_temp.undone('m1') || replace(pg_temp.undone('m2'), '<serviceTask id="un-m2" bpm:type="un-m2" isForCompensation="true"/>', '<serviceTask id="un-m2" bpm:type="un-m2" isForCompensation="true">' || pg_temp.each() || '</serviceTask>')
  || pg_temp.throw('back') || '<endEvent id="end"/>' || test.flows('start>m1', 'm1>m2', 'm2>back', 'back>end')) \gset
select test.start('many', '{"list": [1, 2]}') as r \gset
select test.complete_next(t) is not null as done from unnest('{m1,m2}'::text[]) t;
select test.complete_next(t) is not null as done from unnest('{un-m2,un-m2}'::text[]) t;
select is(test.standing(:'r'), '{"back Waiting","un-m1 Waiting"}', 'a handler that is multi-instance');
select test.complete_next('un-m1') is not null as done \gset
select is(test.status(:'r'), 'Completed', 'done');

-- A called process is an activity as any other, and may undo
select test.deploy('helper', test.service('h') || '<endEvent id="end"/>' || test.flows('start>h', 'h>end')) \gset
select test.deploy('caller', '<callActivity id="a" calledElement="helper"/><boundaryEvent id="ab" attachedToRef="a"><compensateEventDefinition/></boundaryEvent><callActivity id="un" calledElement="helper" isForCompensation="true"/><association id="as" sourceRef="ab" targetRef="un"/>'
  || pg_temp.throw('back') || '<endEvent id="end"/>' || test.flows('start>a', 'a>back', 'back>end')) \gset
select test.start('caller') as s \gset
select test.complete_next('h') is not null as done \gset
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.ledger(:'s'), '{"a Pending running"}', 'a call that was completed is undone');
select test.complete_next('h') is not null as done \gset
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'s') || pg_temp.ledger(:'s')::text, 'Completed{"a Completed"}', 'by another call');

-- What is refused
create function pg_temp.faults(p_body text) returns text[] language sql as
$$ select array_agg(c.severity || ' ' || c.code || ' ' || c.node_id order by c.severity, c.code, c.node_id) from bpm.check_bpmn(test.bpmn('bad', '<startEvent id="start"/><endEvent id="end"/>' || p_body)) c $$;
select is(pg_temp.faults(test.service('a') || test.flows('start>a', 'a>end') || '<boundaryEvent id="b" attachedToRef="a"><compensateEventDefinition/></boundaryEvent>'), '{"fault InvalidCompensation b"}', 'an event without a handler');
select is(pg_temp.faults(test.service('a') || test.service('h') || test.flows('start>a', 'a>h', 'h>end') || '<boundaryEvent id="b" attachedToRef="a"><compensateEventDefinition/></boundaryEvent><association id="as" sourceRef="b" targetRef="h"/>'), '{"fault InvalidCompensation b"}', 'tied to what is no handler');
select is(pg_temp.faults(pg_temp.undone('a') || test.flows('start>a', 'a>end', 'un-a>end')), '{"fault InvalidCompensation un-a"}', 'a handler with a flow');
select is(pg_temp.faults(pg_temp.undone('a') || test.flows('start>a', 'a>end', 'a-b>end')), '{"fault InvalidCompensation a-b"}', 'a boundary event with a flow');
select is(pg_temp.faults(test.service('a') || '<serviceTask id="h" bpm:type="h" isForCompensation="true"/>' || test.flows('start>a', 'a>end')), '{"fault InvalidCompensation h"}', 'a handler of nothing');
select is(pg_temp.faults(pg_temp.throw('t', 'activityRef="nobody"') || test.flows('start>t', 't>end')), '{"fault UnknownReference t"}', 'an unknown activity');
select is(pg_temp.faults(test.service('a') || pg_temp.throw('t', 'activityRef="a" waitForCompletion="false"') || test.flows('start>a', 'a>t', 't>end')), '{"warning CompensationAwaited t","warning NothingCompensated t"}', 'an activity that nothing undoes');
select is(pg_temp.faults(pg_temp.throw('t') || test.flows('start>t')), '{"fault DeadEnd t","fault OrphanNode end"}', 'a throw event needs its flow');
select is(pg_temp.faults(pg_temp.undone('a') || '<boundaryEvent id="x" attachedToRef="un-a"><errorEventDefinition/></boundaryEvent>' || test.flows('start>a', 'a>end', 'x>end')), '{"fault InvalidCompensation x"}', 'a boundary event of a handler');
select ok(pg_temp.replayed(:'a') and pg_temp.replayed(:'g') and pg_temp.replayed(:'j') and pg_temp.replayed(:'m'), 'replay of all');
select is(test.broken(), '{}', 'all invariants hold');
select * from finish();
rollback;
