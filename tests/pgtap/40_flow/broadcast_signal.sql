-- Signals: to everybody who waits, from outside or thrown by a process; at catch events, boundaries, event-based gateways.
begin;
select plan(40);
create function pg_temp.waits(p_process_instance_id uuid) returns text[] language sql as
$$ select coalesce(array_agg(s.node_id || ' ' || s.kind || ' ' || s.state order by s.visit, s.node_id, s.created_at), '{}') from bpm_core.subscription s where s.workflow_instance_id = test.workflow(p_process_instance_id) $$;
create function pg_temp.tell(p_name text, p_payload jsonb default '{}') returns integer language sql as
$$ select s.receivers from bpm.broadcast_signal(p_name, p_payload) s $$;
create function pg_temp.signal(p_tag text, p_id text, p_more text default '') returns text language sql as
$$ select format('<%1$s id="%2$s" %3$s><signalEventDefinition signalRef="s"/></%1$s>', p_tag, p_id, p_more) $$;

-- Caught by everybody who waits
select test.deploy('listen', pg_temp.signal('intermediateCatchEvent', 'hear') || test.service('act') || '<endEvent id="end"/>' || test.flows('start>hear', 'hear>act', 'act>end'), '<signal id="s" name="alarm"/>') \gset
select is(pg_temp.tell('alarm'), 0, 'nobody waits: nobody gets it');
select test.start('listen') as a, test.start('listen', '{"x": 1}') as b \gset
select is(test.standing(:'a') || pg_temp.waits(:'a'), '{"hear Waiting","hear Signal Open"}', 'a wait without a key; the signal of before is not kept');
select is((bpm.get_process(:'a') #> '{waits,0}') - '{subscription_id,token_id,since}'::text[], '{"kind": "Signal", "name": "alarm", "node_id": "hear", "correlation_key": null}'::jsonb, 'it is shown');
select is((select array_agg(r.node_id || ' ' || r.state) from bpm.replay(test.workflow(:'a')) r), '{"hear Waiting"}', 'replay says so, too');
select s.signal_id, s.receivers from bpm.broadcast_signal('alarm', '{"level": 3, "list": "__var:1:[1]"}') s \gset
select is(:receivers, 2, 'both get it');
select is(test.standing(:'a'), '{"hear Waiting"}', 'not before the next tick');
select is(test.tick('inbox'), 2, 'a row of the inbox for each');
select is(test.standing(:'a') || test.standing(:'b'), '{"act Waiting","act Waiting"}', 'both go on');
select is(bpm.get_variables(:'b'), '{"x": 1, "level": 3, "list": [1]}'::jsonb, 'the payload is patched in, decoded');
select is((select h.category || ' ' || h.node_id || ' ' || (h.detail - 'signal') from bpm.history h where h.process_instance_id = :'b' and h.kind = 'SignalReceived'), 'message hear {"name": "alarm", "variables": {"list": [1], "level": 3}}', 'history has it');
select is((select concat_ws(' ', g.name, g.receivers, g.payload) from bpm.signal g where g.signal_id = :'signal_id'), 'alarm 2 {"list": [1], "level": 3}', 'so has the view');
select is(pg_temp.waits(:'a') || pg_temp.tell('alarm')::text, '{"hear Signal Consumed",0}', 'once');
select is((select m.state from bpm.correlate_message('alarm', 'K') m), 'Buffered', 'a message of that name is something else');

-- One wait, two signals before the tick: the first counts
select test.start('listen') as c \gset
select is(pg_temp.tell('alarm', '{"n": 1}') + pg_temp.tell('alarm', '{"n": 2}') + test.tick('inbox') + test.tick('inbox'), 4, 'two on their way to one wait');
select is(test.history(:'c', 'SignalReceived') || test.standing(:'c'), '{"SignalReceived 1","act Waiting"}', 'the first to be applied takes the token, for the other the wait is over');
-- Closed meanwhile
select test.start('listen') as d \gset
select pg_temp.tell('alarm') as told \gset
select bpm.cancel_process(:'d') is not null as cancelled \gset
select is(test.tick('inbox') || test.status(:'d') || pg_temp.waits(:'d')::text, '1Cancelled{"hear Signal Closed"}', 'a wait that closed meanwhile gets nothing');

-- Thrown by a process: in the middle and at its end
select test.deploy('shout', pg_temp.signal('intermediateThrowEvent', 'throw') || test.service('then') || pg_temp.signal('endEvent', 'bye') || test.flows('start>throw', 'throw>then', 'then>bye'), '<signal id="s" name="alarm"/>') \gset
select test.start('listen') as e \gset
select test.start('shout') as f \gset
select is(test.standing(:'f'), '{"then Waiting"}', 'the thrower goes on');
select is((select h.node_id || ' ' || (h.detail - 'signal') from bpm.get_history(:'f') h where h.kind = 'SignalThrown'), 'throw {"name": "alarm", "receivers": 1}', 'history has it');
select is(test.tick('inbox') || test.standing(:'e')::text || bpm.get_variables(:'e'), '1{"act Waiting"}{}', 'another process hears it');
select test.start('listen') as g \gset
select test.complete_next('then') as done \gset
select is(test.status(:'f') || (select array_agg(h.node_id order by h.seq) from bpm.get_history(:'f') h where h.kind in ('SignalThrown', 'TokenCompleted'))::text, 'Completed{throw,bye,bye:end}', 'an end event throws and ends');
select is(test.tick('inbox') || test.standing(:'g')::text, '1{"act Waiting"}', 'after the thrower has ended');
-- Inside one process, in one command
select test.deploy('inside', '<parallelGateway id="fork"/>' || pg_temp.signal('intermediateCatchEvent', 'hear') || pg_temp.signal('intermediateThrowEvent', 'throw') || '<endEvent id="e1"/><endEvent id="e2"/>'
  || test.flows('start>fork', 'fork>throw', 'fork>hear', 'throw>e1', 'hear>e2'), '<signal id="s" name="inner"/>') \gset
select test.start('inside') as h \gset
select bpm.run_until_idle() as done \gset
select is(test.status(:'h'), 'Completed', 'a branch hears what another throws in the same hop');

-- Boundary events
select test.deploy('guard', test.service('work') || pg_temp.signal('boundaryEvent', 'stop', 'attachedToRef="work"') || test.service('undo') || '<endEvent id="end"/>'
  || test.flows('start>work', 'work>end', 'stop>undo', 'undo>end'), '<signal id="s" name="stop"/>') \gset
select test.start('guard') as i, test.start('guard') as j \gset
select test.complete_next('work') as done \gset
select is(pg_temp.tell('stop') + test.tick('inbox'), 2, 'of two tasks one is still open');
select is((select array_agg(i.status || ' ' || array_to_string(test.standing(i.process_instance_id), ',') order by i.status) from bpm.instance i where i.process_code = 'guard'), '{"Completed ","Running undo Waiting"}', 'it is interrupted');
select is((select array_agg(t.state order by t.state) from bpm.task t where t.process_instance_id in (:'i', :'j') and t.node_id = 'work'), '{Cancelled,Completed}', 'its task is closed');
select test.deploy('count', test.service('job') || pg_temp.signal('boundaryEvent', 'more', 'attachedToRef="job" cancelActivity="false"') || test.service('add') || '<endEvent id="end"/><endEvent id="added"/>'
  || test.flows('start>job', 'job>end', 'more>add', 'add>added'), '<signal id="s" name="more"/>') \gset
select test.start('count') as k \gset
select is(pg_temp.tell('more', '{"n": 1}') + pg_temp.tell('more', '{"n": 2}') + test.tick('inbox') + test.tick('inbox'), 4, 'two before the tick');
select is(test.standing(:'k') || pg_temp.waits(:'k'), '{"add Waiting","add Waiting","job Waiting","more Signal Open"}', 'both count where the event does not interrupt, and the wait stays open');
select is((select i.live_tokens from bpm.instance i where i.process_instance_id = :'k'), 3, 'three are live');
select test.complete_next('job') as done \gset
select is(pg_temp.waits(:'k') || pg_temp.tell('more')::text, '{"more Signal Closed",0}', 'until the task is done');

-- Behind an event-based gateway
select test.deploy('either', '<eventBasedGateway id="g"/>' || pg_temp.signal('intermediateCatchEvent', 'sig') || '<intermediateCatchEvent id="msg"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>' || test.timer('late', '<timeDuration>PT1H</timeDuration>')
  || '<endEvent id="e1"/><endEvent id="e2"/><endEvent id="e3"/>' || test.flows('start>g', 'g>sig', 'g>msg', 'g>late', 'sig>e1', 'msg>e2', 'late>e3'), '<signal id="s" name="go"/><message id="m" name="go"/>') \gset
select test.start('either', '{}', 'L') as l, test.start('either', '{}', 'M') as m \gset
select is((select m.state from bpm.correlate_message('go', 'M') m) || pg_temp.tell('go') || test.tick('inbox'), 'Correlated11', 'the message took one, the signal the other');
select is(test.visits(:'l', 'e1') || test.visits(:'m', 'e2')::text || test.status(:'l') || test.status(:'m'), '11CompletedCompleted', 'each by its way');
select is(pg_temp.waits(:'l') || test.history(:'l', 'TimerCancelled'), '{"msg Message Closed","sig Signal Consumed","TimerCancelled 1"}', 'the others are closed');

-- What cannot be applied is put back, buried in the end, and can be revived
select test.start('listen') as n \gset
alter table bpm_core.workflow_instance add constraint no_alarm check (not (variables ? 'poison')) not valid;
select pg_temp.tell('alarm', '{"poison": true}') as told \gset
create function pg_temp.tries(p_times integer) returns integer language plpgsql as $$ begin for n in 1 .. p_times loop perform bpm.advance_clock(interval '10 minutes'); perform test.tick(); end loop; return p_times; end $$;
select pg_temp.tries(11) as tries \gset
select is(test.incidents(:'n') || test.standing(:'n'), '{InboxPoisoned,"hear Waiting"}', 'buried after ten times');
alter table bpm_core.workflow_instance drop constraint no_alarm;
select bpm.resolve_incident(x.incident_id) is not null as resolved from bpm.incident x where x.process_instance_id = :'n' and x.state = 'Open' \gset
select is(test.tick('inbox') || test.standing(:'n')::text, '1{"act Waiting"}', 'mended, it is applied');

-- Refused
select throws_ok($$select * from bpm.broadcast_signal(null)$$, 'BP400', null, 'no name');
select throws_ok($$select * from bpm.broadcast_signal(repeat('n', 301))$$, 'BP400', null, 'an over-long name');
select throws_ok($$select * from bpm.broadcast_signal('n', '[]')$$, 'BP422', null, 'a payload that is no object');
select throws_ok($$select * from bpm.broadcast_signal('n', p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
-- Tenants
select bpm.create_tenant('Other', 'other') is not null as made \gset
select test.start('listen') as t \gset
select is((select s.receivers from bpm.broadcast_signal('alarm', p_tenant_id => 'other') s) || test.tick('inbox')::text || test.standing(:'t')::text, '00{"hear Waiting"}', 'another tenant''s signal reaches nobody here');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
