-- Transactions that are cancelled, and sagas: what was completed inside is undone, then it is left by its cancel boundary, or the error goes outwards.
begin;
select plan(46);
create function pg_temp.undone(p_id text) returns text language sql as
$$ select test.service(p_id) || format('<boundaryEvent id="%1$s-b" attachedToRef="%1$s"><compensateEventDefinition/></boundaryEvent><serviceTask id="un-%1$s" bpm:type="un-%1$s" isForCompensation="true"/><association id="%1$s-as" sourceRef="%1$s-b" targetRef="un-%1$s"/>', p_id) $$;
create function pg_temp.scope(p_tag text, p_id text, p_inside text, p_more text default '') returns text language sql as
$$ select format('<%4$s id="%1$s" %3$s><startEvent id="%1$s-start"/>%2$s<endEvent id="%1$s-end"/></%4$s>', p_id, p_inside, p_more, p_tag) $$;
create function pg_temp.cancelled(p_host text) returns text language sql as
$$ select format('<boundaryEvent id="%1$s-off" attachedToRef="%1$s"><cancelEventDefinition/></boundaryEvent>', p_host) $$;
create function pg_temp.erred(p_host text) returns text language sql as
$$ select format('<boundaryEvent id="%1$s-bad" attachedToRef="%1$s"><errorEventDefinition/></boundaryEvent>', p_host) $$;
create function pg_temp.ledger(p uuid) returns text[] language sql as
$$ select coalesce(array_agg(c.node_id || ' ' || c.status || case when c.is_running then ' running' else '' end order by c.position), '{}') from bpm.compensation c where c.process_instance_id = p $$;
create function pg_temp.replayed(p uuid) returns boolean language sql as
$$ select not exists (select r.token_id::text, r.node_id, r.state from bpm.replay(test.workflow(p)) r
                      except select k.id::text, k.node_id, k.state::text from bpm_core.token k where k.workflow_instance_id = test.workflow(p)) $$;

-- A transaction: a and b done, c at work beside; an error leads to the cancel end
select test.deploy('tx', pg_temp.scope('transaction', 'tx1', '<parallelGateway id="fork"/>' || pg_temp.undone('a') || pg_temp.undone('b') || pg_temp.undone('c') || test.service('d') || pg_temp.erred('d') || '<endEvent id="off"><cancelEventDefinition/></endEvent><endEvent id="e2"/>'
  || test.flows('tx1-start>a', 'a>b', 'b>fork', 'fork>c', 'fork>d', 'c>tx1-end', 'd>e2', 'd-bad>off')
  || '<subProcess id="es" triggeredByEvent="true"><startEvent id="note" isInterrupting="false"><messageEventDefinition messageRef="m"/></startEvent><endEvent id="es-end"/>' || test.flows('note>es-end') || '</subProcess>') || pg_temp.cancelled('tx1')
  || '<boundaryEvent id="late" attachedToRef="tx1"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>' || pg_temp.erred('tx1')
  || test.service('tell') || '<endEvent id="end"/><endEvent id="end2"/><endEvent id="end3"/><endEvent id="end4"/>' || test.flows('start>tx1', 'tx1>end', 'tx1-off>tell', 'tell>end2', 'late>end3', 'tx1-bad>end4'), '<message id="m" name="hello"/>') \gset
select test.start('tx', p_business_key => 'T1') as a \gset
select test.complete_next(t) is not null as done from unnest('{a,b}'::text[]) t;
select is(test.standing(:'a') || pg_temp.ledger(:'a'), '{"c Waiting","d Waiting","tx1 Waiting","a Pending","b Pending"}', 'half way');
select test.throw_next('d', 'no') is not null as thrown \gset
select is(test.standing(:'a') || pg_temp.ledger(:'a'), '{"off:compensate Waiting","tx1 Waiting","un-b Waiting","a Pending","b Pending running"}', 'cancelled: everything else in it ends, b is undone first');
select ok(pg_temp.replayed(:'a'), 'replay');
select is(test.broken(), '{}', 'nothing is broken meanwhile');
select is((select m.state from bpm.correlate_message('hello', 'T1', '{}', '0') m), 'Expired', 'nothing begins in it any more');
select bpm.advance_clock(interval '2 hours') is not null as later \gset
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'a'), '{"off:compensate Waiting","tx1 Waiting","un-b Waiting"}', 'and nothing ends it half way');
select test.complete_next(t) is not null as done from unnest('{un-b,un-a}'::text[]) t;
select is(test.standing(:'a') || pg_temp.ledger(:'a'), '{"tell Waiting","a Completed","b Completed"}', 'then it leaves by the cancel boundary');
select ok(pg_temp.replayed(:'a') and test.broken() = '{}', 'replay');
select test.complete_next('tell') is not null as done \gset
select is(test.status(:'a') || test.history(:'a', 'TransactionCancelled')::text, 'Completed{"TransactionCancelled 1"}', 'to the end');

-- It ends as any sub-process; an error that leaves it undoes nothing (a hazard)
select test.start('tx', p_business_key => 'T2') as b \gset
select test.complete_next(t) is not null as done from unnest('{a,b,c,d}'::text[]) t;
select is(test.status(:'b') || pg_temp.ledger(:'b')::text, 'Completed{"a Pending","b Pending","c Pending"}', 'without an error');
select test.start('tx', p_business_key => 'T3') as c \gset
select test.complete_next(t) is not null as done from unnest('{a,b}'::text[]) t;
select test.throw_next('c', 'no') is not null as thrown \gset
select is(test.status(:'c') || pg_temp.ledger(:'c')::text, 'Completed{"a Pending","b Pending"}', 'an error leaves at once, nothing is undone');

-- A handler's error ends the cancelling; nothing to undo; two cancel ends at once
select test.start('tx', p_business_key => 'T4') as d \gset
select test.complete_next(t) is not null as done from unnest('{a,b}'::text[]) t;
select test.throw_next('d', 'no') is not null as thrown \gset
select test.throw_next('un-b', 'no') is not null as thrown \gset
select is(test.status(:'d') || pg_temp.ledger(:'d')::text, 'Completed{"a Pending","b Failed"}', 'a handler that throws: the error boundary');
select test.deploy('tx0', pg_temp.scope('transaction', 'tx1', '<parallelGateway id="fork"/><endEvent id="off"><cancelEventDefinition/></endEvent><endEvent id="off2"><cancelEventDefinition/></endEvent>' || test.service('slow') || test.flows('tx1-start>fork', 'fork>off', 'fork>off2', 'fork>slow', 'slow>tx1-end'))
  || pg_temp.cancelled('tx1') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>tx1', 'tx1>end', 'tx1-off>end2')) \gset
select test.start('tx0') as e \gset
select is(test.status(:'e') || (select count(*) from bpm_core.token t where t.workflow_instance_id = test.workflow(:'e') and t.node_id = 'end2'), 'Completed1', 'two at once in one command: cancelled once');
select ok(pg_temp.replayed(:'e') and test.broken() = '{}', 'replay');

-- A completed transaction can be undone from outside
select test.deploy('outer', pg_temp.scope('transaction', 'tx1', pg_temp.undone('a') || test.flows('tx1-start>a', 'a>tx1-end')) || '<endEvent id="back"><compensateEventDefinition/></endEvent>' || test.flows('start>tx1', 'tx1>back')) \gset
select test.start('outer') as f \gset
select test.complete_next('a') is not null as done \gset
select test.complete_next('un-a') is not null as done \gset
select is(test.status(:'f') || pg_temp.ledger(:'f')::text, 'Completed{"a Completed"}', 'undone from outside');

-- A saga: the process fails after everything is undone
create function pg_temp.saga(p_code text, p_body text) returns bigint language sql as
$$ select count(*) from bpm.deploy_bpmn(replace(test.bpmn(p_code, '<startEvent id="start"/>' || p_body), 'isExecutable', 'bpm:saga="true" isExecutable')) $$;
select pg_temp.saga('saga', pg_temp.undone('a') || pg_temp.scope('subProcess', 's', pg_temp.undone('b') || test.flows('s-start>b', 'b>s-end')) || '<serviceTask id="c" bpm:type="c" bpm:retries="2"/><endEvent id="end"/>' || test.flows('start>a', 'a>s', 's>c', 'c>end')) as n \gset
select test.start('saga') as g \gset
select test.complete_next(t) is not null as done from unnest('{a,b}'::text[]) t;
select test.throw_next('c', 'no-money') is not null as thrown \gset
select is(test.standing(:'g') || pg_temp.ledger(:'g'), '{"saga:body Waiting","saga:saga Waiting","saga:saga-throw Waiting","un-b Waiting","a Pending","b Pending running"}', 'an error nobody catches: b is undone');
select ok(pg_temp.replayed(:'g') and test.broken() = '{}', 'replay');
select test.complete_next('un-b') is not null as done \gset
select is(test.status(:'g'), 'Running', 'then a');
select test.complete_next('un-a') is not null as done \gset
select is(test.status(:'g') || pg_temp.ledger(:'g')::text, 'Failed{"a Completed","b Completed"}', 'then the instance is Failed');
select is((select h.detail ->> 'code' from bpm.history h where h.process_instance_id = :'g' and h.kind = 'InstanceFailed'), 'no-money', 'with the error it began with');
select ok(pg_temp.replayed(:'g') and test.broken() = '{}', 'replay');

-- An exhausted task fails a saga too; an expired lease as well
select test.start('saga') as h \gset
select test.complete_next(t) is not null as done from unnest('{a,b}'::text[]) t;
select test.fail_next('c') is not null as failed \gset
select is(test.standing(:'h'), '{"c Waiting","saga:body Waiting"}', 'one attempt left');
select bpm.advance_clock(interval '1 hour') is not null as later \gset
select c.task_id from bpm.claim_tasks('w', '{c}') c \gset
select bpm.advance_clock(interval '1 hour') is not null as later \gset
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'h') || (select count(*) from bpm.incident i where i.process_instance_id = :'h')::text, '{"saga:body Waiting","saga:saga Waiting","saga:saga-throw Waiting","un-b Waiting",0}', 'exhausted: undone, no incident');
select ok(pg_temp.replayed(:'h') and test.broken() = '{}', 'replay');
-- A handler that fails halts; nothing else is tried
select test.fail_next('un-b', false) is not null as failed \gset
select is((select i.code || ' ' || i.node_id from bpm.incident i where i.process_instance_id = :'h' and i.state = 'Open') || test.status(:'h'), 'AttemptsExhausted un-bRunning', 'a handler that fails is for a person');
select (bpm.resolve_incident(i.incident_id)).outcome as outcome from bpm.incident i where i.process_instance_id = :'h' and i.state = 'Open' \gset
select test.complete_next(t) is not null as done from unnest('{un-b,un-a}'::text[]) t;
select is(test.status(:'h') || (select h.detail ->> 'code' from bpm.history h where h.process_instance_id = :'h' and h.kind = 'InstanceFailed'), 'FailedAttemptsExhausted', 'and when it is mended, the instance is Failed');

-- Two tasks fail in one call; several instances
select pg_temp.saga('pair', '<parallelGateway id="f"/>' || pg_temp.undone('a') || '<serviceTask id="x" bpm:type="x" bpm:retries="1"/><serviceTask id="y" bpm:type="x" bpm:retries="1"/><endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>a', 'a>f', 'f>x', 'f>y', 'x>end', 'y>end2')) as n \gset
select count(test.start('pair')) as n from generate_series(1, 3) \gset
select test.complete_next('a') is not null as done from generate_series(1, 3);
select array_agg(f.outcome::text) as outcomes from bpm.fail_tasks((select jsonb_agg(jsonb_build_object('task_id', c.task_id, 'fencing_token', c.fencing_token, 'error', 'no')) from bpm.claim_tasks('w', '{x}', 10) c)) f \gset
select is((select count(*) from bpm.task t where t.task_type = 'un-a' and t.state = 'Ready' and t.process_instance_id in (select i.process_instance_id from bpm.instance i where i.process_code = 'pair')), 3::bigint, 'each saga is begun once');
select is(:'outcomes'::text, '{Failed,Failed,Failed,Failed,Failed,Failed}', 'all are told');
select test.complete_next('un-a') is not null as done from generate_series(1, 3);
select is((select count(*) from bpm.instance i where i.process_code = 'pair' and i.status = 'Failed'), 3::bigint, 'all fail');
select is(test.broken(), '{}', 'nothing is broken');

-- A sub-process that is a saga: undone, then the error goes outwards; what is caught inside is no failure
select test.deploy('part', pg_temp.scope('subProcess', 's', pg_temp.undone('a') || test.service('b') || '<boundaryEvent id="soft" attachedToRef="b"><errorEventDefinition errorRef="E1"/></boundaryEvent><endEvent id="se"/>' || test.flows('s-start>a', 'a>b', 'b>s-end', 'soft>se'), 'bpm:saga="true"') || pg_temp.erred('s') || pg_temp.undone('z')
  || test.service('mend') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>z', 'z>s', 's>end', 's-bad>mend', 'mend>end2'), '<error id="E1" errorCode="one"/>') \gset
select test.start('part') as i \gset
select test.complete_next(t) is not null as done from unnest('{z,a}'::text[]) t;
select test.throw_next('b', 'one') is not null as thrown \gset
select is(test.status(:'i') || pg_temp.ledger(:'i')::text, 'Completed{"z Pending","a Pending"}', 'caught inside');
select test.start('part') as j \gset
select test.complete_next(t) is not null as done from unnest('{z,a}'::text[]) t;
select test.throw_next('b', 'two') is not null as thrown \gset
select test.complete_next('un-a') is not null as done \gset
select is(test.standing(:'j') || pg_temp.ledger(:'j'), '{"mend Waiting","z Pending","a Completed"}', 'only what is inside is undone; then the boundary event');
select ok(pg_temp.replayed(:'j') and test.broken() = '{}', 'replay');

-- What was completed in a part that was interrupted is undone as well; a saga inside of a saga; a multi-branch end
select pg_temp.saga('deep', pg_temp.scope('subProcess', 's', pg_temp.undone('a') || '<parallelGateway id="f"/>' || test.service('b') || pg_temp.scope('subProcess', 'r', pg_temp.undone('c') || test.service('d') || test.flows('r-start>c', 'c>d', 'd>r-end')) || '<endEvent id="s-end2"/>'
  || test.flows('s-start>a', 'a>f', 'f>b', 'f>r', 'b>s-end', 'r>s-end2')) || '<endEvent id="end"/>' || test.flows('start>s', 's>end')) as n \gset
select test.start('deep') as k \gset
select test.complete_next(t) is not null as done from unnest('{a,c}'::text[]) t;
select test.throw_next('b', 'no') is not null as thrown \gset
select test.complete_next(t) is not null as done from unnest('{un-c,un-a}'::text[]) t;
select is(test.status(:'k') || pg_temp.ledger(:'k')::text, 'Failed{"a Completed","c Completed"}', 'nothing of it remains');
select pg_temp.saga('twice', pg_temp.undone('z') || pg_temp.scope('subProcess', 's', pg_temp.undone('a') || test.service('b') || test.flows('s-start>a', 'a>b', 'b>s-end'), 'bpm:saga="true"') || '<endEvent id="end"/>' || test.flows('start>z', 'z>s', 's>end')) as n \gset
select test.start('twice') as l \gset
select test.complete_next(t) is not null as done from unnest('{z,a}'::text[]) t;
select test.throw_next('b', 'no') is not null as thrown \gset
select test.complete_next('un-a') is not null as done \gset
select is(test.standing(:'l') || pg_temp.ledger(:'l'), '{"twice:body Waiting","twice:saga Waiting","twice:saga-throw Waiting","un-z Waiting","z Pending running","a Completed"}', 'the inner one first, then the outer one');
select ok(pg_temp.replayed(:'l') and test.broken() = '{}', 'replay');
select test.complete_next('un-z') is not null as done \gset
select is(test.status(:'l') || (select h.detail ->> 'code' from bpm.history h where h.process_instance_id = :'l' and h.kind = 'InstanceFailed'), 'Failedno', 'with the error it all began with');

-- A suspended instance: nothing moves, so it is an incident
select test.start('pair') as m \gset
select test.complete_next('a') is not null as done \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{x}', 1) c \gset
select bpm.suspend_process(:'m') is not null as held \gset
select (bpm.fail_task(:'task_id', :fencing_token, '"no"', false)).outcome as outcome \gset
select is((select i.code from bpm.incident i where i.process_instance_id = :'m' and i.state = 'Open') || pg_temp.ledger(:'m')::text, 'AttemptsExhausted{"a Pending"}', 'suspended: an incident');
select bpm.resume_process(:'m') is not null as going \gset
select is(test.broken(), '{}', 'nothing is broken');

-- What is refused
create function pg_temp.faults(p_body text) returns text[] language sql as
$$ select array_agg(c.severity || ' ' || c.code || ' ' || c.node_id order by c.severity, c.code, c.node_id) from bpm.check_bpmn(test.bpmn('bad', '<startEvent id="start"/>' || p_body)) c $$;
select is(pg_temp.faults('<endEvent id="end"><cancelEventDefinition/></endEvent>' || test.flows('start>end')), '{"fault UnsupportedElement end"}', 'a cancel end outside of a transaction');
select is(pg_temp.faults(pg_temp.scope('transaction', 't', '<endEvent id="off"><cancelEventDefinition/></endEvent><parallelGateway id="f"/>' || test.flows('t-start>f', 'f>off', 'f>t-end')) || '<endEvent id="end"/>' || test.flows('start>t', 't>end')), '{"fault UnsupportedElement off"}', 'a cancel end nothing catches');
select is(pg_temp.faults(pg_temp.scope('subProcess', 't', test.flows('t-start>t-end')) || pg_temp.cancelled('t') || '<endEvent id="end"/>' || test.flows('start>t', 't>end', 't-off>end')), '{"fault UnsupportedElement t-off"}', 'a cancel boundary of what is no transaction');
select is(pg_temp.faults(pg_temp.scope('transaction', 't', test.flows('t-start>t-end')) || pg_temp.cancelled('t') || '<endEvent id="end"/>' || test.flows('start>t', 't>end', 't-off>end')), '{"warning BoundaryNeverFires t-off"}', 'one that never fires');
select is(pg_temp.faults(pg_temp.scope('subProcess', 't', test.flows('t-start>t-end'), 'bpm:saga="yes"') || '<endEvent id="end"/>' || test.flows('start>t', 't>end')), '{"fault UnsupportedElement t"}', 'a saga says true or false');
select is(pg_temp.faults(pg_temp.scope('transaction', 't', '<multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics><endEvent id="off"><cancelEventDefinition/></endEvent><parallelGateway id="f"/>' || test.flows('t-start>f', 'f>off', 'f>t-end'))
  || pg_temp.cancelled('t') || '<endEvent id="end"/>' || test.flows('start>t', 't>end', 't-off>end')), '{"fault UnsupportedElement off"}', 'one of many cannot be cancelled');
select is(test.broken(), '{}', 'all invariants hold');
select * from finish();
rollback;
