-- Processes that are started by messages, signals and timers, and what becomes of that when a new version is deployed.
begin;
select no_plan();
set local timezone = 'UTC';
select bpm.set_clock('2031-06-01 08:00:00Z') is not null as set \gset

-- A file whose start events are p_starts, each leading to the user task look.
create function pg_temp.file(p_code text, p_starts text, p_note text default '') returns text language sql as $$
  select test.bpmn(p_code, p_starts || '<userTask id="look"/><endEvent id="end"/>' || test.flows('look>end')
    || (select string_agg(test.flows(m[1] || '>look'), '') from regexp_matches(p_starts, 'startEvent id="([^"]+)"', 'g') m),
    format('<message id="m1" name="order"/><message id="m2" name="order-2"/><signal id="s1" name="alarm"/><signal id="s2" name="alarm-2"/><!-- %s -->', p_note))
$$;
create function pg_temp.message(p_id text default 'by_message', p_ref text default 'm1') returns text language sql as
$$ select format('<startEvent id="%s"><messageEventDefinition messageRef="%s"/></startEvent>', p_id, p_ref) $$;
create function pg_temp.signal(p_id text default 'by_signal', p_ref text default 's1') returns text language sql as
$$ select format('<startEvent id="%s"><signalEventDefinition signalRef="%s"/></startEvent>', p_id, p_ref) $$;
create function pg_temp.timer(p_rule text, p_id text default 'by_timer', p_more text default '') returns text language sql as
$$ select format('<startEvent id="%s"><timerEventDefinition %s>%s</timerEventDefinition></startEvent>', p_id, p_more, p_rule) $$;
create function pg_temp.deploy(p_file text) returns integer language sql as $$ select d.version from bpm.deploy_bpmn(p_file) d $$;
-- What starts a process now, and how many instances it has.
create function pg_temp.opens(p_code text) returns text[] language sql as $$
  select array_agg(concat_ws(' ', 'v' || e.process_version, e.node_id, e.kind, e.name, to_char(e.next_due_at, 'MM-DD HH24:MI'), e.remaining) order by e.node_id)
    from bpm.start_event e where e.process_code = p_code $$;
create function pg_temp.started(p_code text) returns bigint language sql as $$ select count(*) from bpm.instance i where i.process_code = p_code $$;

-- Message
select pg_temp.deploy(pg_temp.file('by-message', pg_temp.message())) as v \gset
select is(pg_temp.opens('by-message'), '{"v1 by_message Message order"}', 'a message start event waits');
select m.message_id as message, m.state as state, m.process_instance_id as a, m.is_new from bpm.correlate_message('order', 'A-1', '{"amount": 5}', p_message_id => 'x1') m \gset
select is(concat_ws(' ', i.status, i.business_key, i.variables, test.standing(i.process_instance_id)), 'Running A-1 {"amount": 5} {"look Waiting"}', 'it starts an instance: the key is its business key, the payload its variables') from bpm.instance i where i.process_instance_id = :'a';
select is(:'state'::text, 'Correlated', 'the message has met its receiver');
select is((select concat_ws(' ', m.state, m.process_instance_id = :'a', m.node_id is null) from bpm.message m where m.id = :'message'), 'Correlated t t', 'which the view shows');
select is((select concat_ws(' ', m.process_instance_id = :'a', m.is_new) from bpm.correlate_message('order', 'A-1', '{"amount": 5}', p_message_id => 'x1') m), 't f', 'a repeated message id gets the first answer');
select throws_ok($$select bpm.correlate_message('order', 'A-1', '{"amount": 6}', p_message_id => 'x1')$$, 'BP409', null, 'for another message it is refused');
select is(pg_temp.started('by-message'), 1::bigint, 'nothing else has started');
select is((select h.detail - 'workflow_version' from bpm.get_history(:'a') h where h.kind = 'InstanceStarted'), jsonb_build_object('message', :'message', 'name', 'order'), 'history says what started it');
select is((select count(distinct m.process_instance_id) from generate_series(1, 3) n cross join lateral bpm.correlate_message('order', 'A-' || (1 + n % 2)) m), 3::bigint, 'every message starts one, whatever its key');
select is((select m.state from bpm.correlate_message('order', 'A-9', p_ttl => interval '0') m), 'Correlated', 'also one that is not kept');
select is((select m.state from bpm.correlate_message('other', 'A-9') m), 'Buffered', 'one of another name is kept');
select is(pg_temp.opens('by-message'), '{"v1 by_message Message order"}', 'it still waits');

-- Output mappings of the event
select pg_temp.deploy(replace(test.bpmn('mapped', '<startEvent id="start"><extensionElements><zeebe:ioMapping><zeebe:output source="= order.total * 2" target="twice"/></zeebe:ioMapping></extensionElements><messageEventDefinition messageRef="m"/></startEvent><userTask id="look"/><endEvent id="end"/>' || test.flows('start>look', 'look>end'), '<message id="m" name="mapped"/>'),
  'targetNamespace', 'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" targetNamespace')) as v \gset
select m.process_instance_id as n from bpm.correlate_message('mapped', 'A-1', '{"order": {"total": 4}, "more": 1}') m \gset
select is((select i.variables from bpm.instance i where i.process_instance_id = :'n'), '{"twice": 8}', 'what the mappings of the event make of the payload');
select throws_like($$select bpm.correlate_message('mapped', 'A-1', '{"order": {}}')$$, '%cannot be evaluated%', 'one that cannot be evaluated is refused');
select is(pg_temp.started('mapped'), 1::bigint, 'and starts nothing');

-- An existing wait comes first
select test.deploy('waits', '<intermediateCatchEvent id="wait"><messageEventDefinition messageRef="m1"/></intermediateCatchEvent><endEvent id="end"/>' || test.flows('start>wait', 'wait>end'), '<message id="m1" name="order"/>') \gset
select s.process_instance_id as b from bpm.start_process('waits', p_business_key => 'A-1') s \gset
select is((select m.process_instance_id from bpm.correlate_message('order', 'A-1') m), :'b'::uuid, 'a wait with the same key first');
select bpm.run_until_idle() as done \gset
select is(test.status(:'b'), 'Completed', 'it gets it');
select isnt((select m.process_instance_id from bpm.correlate_message('order', 'A-1') m), :'b'::uuid, 'then the start event again');

-- C11: messages from before the deploy stay for waits; order kept
select is((select array_agg(m.state) from unnest('{1,2}'::text[]) n cross join lateral bpm.correlate_message('late', 'K', jsonb_build_object('n', n)) m), '{Buffered,Buffered}', 'nobody waits yet');
select pg_temp.deploy(test.bpmn('late', '<startEvent id="start"><messageEventDefinition messageRef="m"/></startEvent><receiveTask id="more" messageRef="m"/><receiveTask id="last" messageRef="m"/><endEvent id="end"/>' || test.flows('start>more', 'more>last', 'last>end'), '<message id="m" name="late"/>')) as v \gset
select bpm.run_until_idle() as done \gset
select is(pg_temp.started('late'), 0::bigint, 'messages older than the start event do not start it');
select bpm.advance_clock(interval '1 second') is not null as moved \gset
select m.process_instance_id as c from bpm.correlate_message('late', 'K', '{"n": "3"}') m \gset
select bpm.run_until_idle() as done \gset
select is((select array_agg(h.detail -> 'variables' ->> 'n' order by h.seq) from bpm.get_history(:'c') h where h.kind = 'MessageReceived'), '{1,2}', 'they are there for the waits, in the order they came');
select is(test.status(:'c') || pg_temp.started('late'), 'Completed1', 'one start by three messages');

-- Two processes: the one that has waited longest
select pg_temp.deploy(pg_temp.file('by-message-too', pg_temp.message())) as v \gset
select m.process_instance_id as o from bpm.correlate_message('order', 'A-3') m \gset
select is((select i.process_code from bpm.instance i where i.process_instance_id = :'o'), 'by-message', 'the oldest start event gets it');
select pg_temp.deploy(pg_temp.file('by-message', pg_temp.message(), 'second')) as v \gset
select m.process_instance_id as o from bpm.correlate_message('order', 'A-4') m \gset
select is((select i.process_code || i.process_version from bpm.instance i where i.process_instance_id = :'o'), 'by-message2', 'a new version keeps its age');

-- Signal
select pg_temp.deploy(pg_temp.file('by-signal', pg_temp.signal() || pg_temp.signal('by_signal_2', 's2'))) as v \gset
select is(pg_temp.opens('by-signal'), '{"v1 by_signal Signal alarm","v1 by_signal_2 Signal alarm-2"}', 'signal start events wait');
select is((select s.receivers from bpm.broadcast_signal('alarm', '{"level": 3}') s), 1, 'a signal reaches it');
select is((select array_agg(test.standing(i.process_instance_id)::text || i.variables) from bpm.instance i where i.process_code = 'by-signal'), array['{"look Ready"}{"level": 3}'], 'an instance with the payload, ready to go');
select bpm.run_until_idle() as done \gset
select is((select array_agg(test.standing(i.process_instance_id)::text) from bpm.instance i where i.process_code = 'by-signal'), array['{"look Waiting"}'], 'which goes on with the next tick');
select test.deploy('throws', '<intermediateThrowEvent id="shout"><signalEventDefinition signalRef="s1"/></intermediateThrowEvent><endEvent id="end"/>' || test.flows('start>shout', 'shout>end'), '<signal id="s1" name="alarm-2"/>') \gset
select test.start('throws') as d \gset
select bpm.run_until_idle() as done \gset
select is(test.status(:'d') || pg_temp.started('by-signal') || (select array_agg(h.node_id order by h.node_id) from bpm.instance i cross join lateral bpm.get_history(i.process_instance_id) h where i.process_code = 'by-signal' and h.kind = 'InstanceStarted')::text, 'Completed2{by_signal,by_signal_2}', 'so does one that a process throws');
select pg_temp.deploy(test.bpmn('echo', '<startEvent id="start"><signalEventDefinition signalRef="s"/></startEvent><endEvent id="end"><signalEventDefinition signalRef="s"/></endEvent>' || test.flows('start>end'), '<signal id="s" name="echo"/>')) as v \gset
select bpm.broadcast_signal('echo') is not null as sent, (select sum(test.tick('tokens')) from generate_series(1, 5)) as ticks \gset
select ok(pg_temp.started('echo') between 2 and 7, 'one that throws what starts it goes on with ticks, one at a time');
select pg_temp.deploy(test.linear('echo', 'quiet')) as v \gset
select bpm.run_until_idle() as done \gset

-- Timers: a date, a duration, a cycle, cron
select pg_temp.deploy(pg_temp.file('by-timer', pg_temp.timer('<timeCycle>0 9 * * *</timeCycle>', 'daily', 'bpm:timeZone="Europe/Berlin"') || pg_temp.timer('<timeCycle>R3/PT1H</timeCycle>', 'hourly')
  || pg_temp.timer('<timeDate>2031-06-01T10:30:00Z</timeDate>', 'on_date') || pg_temp.timer('<timeDuration>PT90M</timeDuration>', 'in_a_while') || pg_temp.timer('<timeDate>2031-01-01</timeDate>', 'past'))) as v \gset
select is(pg_temp.opens('by-timer'), '{"v1 daily Timer 0 9 * * * 06-02 07:00","v1 hourly Timer R3/PT1H 06-01 09:00 3","v1 in_a_while Timer PT90M 06-01 09:30 1","v1 on_date Timer 2031-06-01T10:30:00Z 06-01 10:30 1","v1 past Timer 2031-01-01 06-01 08:00 1"}', 'start timers run');
select is(test.tick('timers') || pg_temp.opens('by-timer')::text, '1{"v1 daily Timer 0 9 * * * 06-02 07:00","v1 hourly Timer R3/PT1H 06-01 09:00 3","v1 in_a_while Timer PT90M 06-01 09:30 1","v1 on_date Timer 2031-06-01T10:30:00Z 06-01 10:30 1"}', 'a date in the past fires at once');
select is(pg_temp.started('by-timer'), 1::bigint, 'and starts one instance');
select is((select h.detail - 'workflow_version' - 'timer' from bpm.instance i cross join lateral bpm.get_history(i.process_instance_id) h where i.process_code = 'by-timer' and h.kind = 'InstanceStarted'), '{"scheduled_at": "2031-01-01T00:00:00+00:00"}'::jsonb, 'history says when it was planned for');
select bpm.set_clock('2031-06-01 09:01:00Z') is not null as moved \gset
select is(test.tick('timers') || '/' || test.tick('timers') || '/' || pg_temp.started('by-timer'), '1/0/2', 'the cycle, once');
select bpm.set_clock('2031-06-01 10:31:00Z') is not null as moved \gset
select is(bpm.run_until_idle() || '/' || pg_temp.started('by-timer'), '3/5', 'cycle, date and duration');
select is(pg_temp.opens('by-timer'), '{"v1 daily Timer 0 9 * * * 06-02 07:00","v1 hourly Timer R3/PT1H 06-01 11:00 1"}', 'what is used up is gone');

-- A new version: what is the same goes on, what is not begins anew
select pg_temp.deploy(pg_temp.file('by-timer', pg_temp.timer('<timeCycle>0 9 * * *</timeCycle>', 'daily', 'bpm:timeZone="Asia/Tokyo"') || pg_temp.timer('<timeCycle>R3/PT1H</timeCycle>', 'hourly')
  || pg_temp.timer('<timeDate>2031-06-01T10:30:00Z</timeDate>', 'on_date') || pg_temp.timer('<timeDuration>PT30M</timeDuration>', 'in_a_while') || pg_temp.message('by_message', 'm2'))) as v \gset
select is(pg_temp.opens('by-timer'), '{"v2 by_message Message order-2","v2 daily Timer 0 9 * * * 06-02 00:00","v2 hourly Timer R3/PT1H 06-01 11:00 1","v2 in_a_while Timer PT30M 06-01 11:01 1"}', 'cycle and date stand where they stood');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select pg_temp.deploy(pg_temp.file('by-timer', pg_temp.message('by_message', 'm2'), 'third')) as v \gset
select is(pg_temp.opens('by-timer'), '{"v3 by_message Message order-2"}', 'what a version does not have is closed');
select bpm.set_clock('2031-06-03 00:00:00Z') is not null as moved \gset
select is(bpm.run_until_idle() || '/' || pg_temp.started('by-timer'), '0/5', 'and starts nothing any more');
-- An older file again
select pg_temp.deploy(pg_temp.file('by-timer', pg_temp.timer('<timeCycle>0 9 * * *</timeCycle>', 'daily', 'bpm:timeZone="Asia/Tokyo"') || pg_temp.timer('<timeCycle>R3/PT1H</timeCycle>', 'hourly')
  || pg_temp.timer('<timeDate>2031-06-01T10:30:00Z</timeDate>', 'on_date') || pg_temp.timer('<timeDuration>PT30M</timeDuration>', 'in_a_while') || pg_temp.message('by_message', 'm2'))) as v \gset
select is(:v::text || pg_temp.opens('by-timer')::text, '2{"v2 by_message Message order-2","v2 daily Timer 0 9 * * * 06-04 00:00","v2 hourly Timer R3/PT1H 06-03 01:00 3","v2 in_a_while Timer PT30M 06-03 00:30 1","v2 on_date Timer 2031-06-01T10:30:00Z 06-03 00:00 1"}', 'an older version deployed again opens what it has, anew');
select is((select array_agg(d.version || ' ' || d.is_new) from bpm.deploy_bpmn((select w.bpmn_xml from bpm_core.workflow_version w join bpm_core.workflow_definition d on d.published_version_id = w.id where d.code = 'by-timer')) d), '{"2 false"}', 'the current one again');
select is((pg_temp.opens('by-timer'))[3], 'v2 hourly Timer R3/PT1H 06-03 01:00 3', 'changes nothing');

-- Downtime
select count(pg_temp.deploy(pg_temp.file(x.code, pg_temp.timer('<timeCycle>0 12 * * *</timeCycle>', 'noon', x.more)))) as v from (values ('down-once', ''), ('down-all', 'bpm:catchUp="All"'), ('down-skip', 'bpm:catchUp="Skip"')) x (code, more) \gset
select bpm.set_clock('2031-06-06 00:00:00Z') is not null as moved, bpm.run_until_idle() as done \gset
select is((select array_agg(c || pg_temp.started(c)) from unnest('{down-once,down-all,down-skip}'::text[]) c), '{down-once1,down-all3,down-skip0}', 'Once, All, Skip');
select is((select array_agg(distinct e.next_due_at) from bpm.start_event e where e.process_code ~ '^down'), '{2031-06-06 12:00Z}', 'all go on with the next noon');
select is((select array_agg(to_char((h.detail ->> 'scheduled_at')::timestamptz, 'DD HH24') order by i.created_at, i.process_instance_id) from bpm.instance i cross join lateral bpm.get_history(i.process_instance_id) h where i.process_code = 'down-all' and h.kind = 'InstanceStarted'), '{"03 12","04 12","05 12"}', 'one by one, oldest first');

-- Plain and other starts beside each other; only others
select pg_temp.deploy(pg_temp.file('mixed', '<startEvent id="start"/>' || pg_temp.message('by_message', 'm2') || pg_temp.signal('by_signal', 's2'))) as v \gset
select test.start('mixed') as p \gset
select is((select array_agg(h.node_id) from bpm.get_history(:'p') h where h.kind = 'InstanceStarted'), '{start}', 'start_process begins at the plain one');
select throws_ok($$select bpm.start_process('by-signal')$$, 'BP409', $$Process 'by-signal' has no plain start event; it is started by the signal 'alarm', the signal 'alarm-2'.$$, 'where there is none it says what starts it');
select throws_ok($$select bpm.start_process('by-message', p_version => 1)$$, 'BP409', null, 'also for a version');
select throws_ok($$select bpm.start_process('by-message', p_version => 7)$$, 'BP404', null, 'one that is not there is not found');
select results_eq($$select s.outcome::text, s.process_instance_id from bpm.start_processes('[{"code": "by-signal"}]') s$$, $$values ('WrongState', null::uuid)$$, 'in a set it is an outcome');

-- A start event with a body that listens
select pg_temp.deploy(test.bpmn('body', pg_temp.message('go', 'm2') || pg_temp.timer('<timeCycle>R/PT1H</timeCycle>', 'tick') || '<userTask id="look"/><endEvent id="end"/>' || test.flows('go>look', 'tick>look', 'look>end')
  || '<subProcess id="aside" triggeredByEvent="true"><startEvent id="heard" isInterrupting="false"><signalEventDefinition signalRef="s2"/></startEvent><endEvent id="aside_end"/>' || test.flows('heard>aside_end') || '</subProcess>',
  '<message id="m2" name="body-go"/><signal id="s2" name="body-signal"/>')) as v \gset
select is(pg_temp.opens('body'), '{"v1 go Message body-go","v1 tick Timer R/PT1H 06-06 01:00"}', 'start events of a process with event sub-processes');
select m.process_instance_id as e from bpm.correlate_message('body-go', 'B') m \gset
select is(test.standing(:'e'), '{"body:body Waiting","look Waiting"}', 'start inside its body');
select is((select s.receivers from bpm.broadcast_signal('body-signal') s), 1, 'the event sub-process starts nothing by itself');
select bpm.run_until_idle() as done \gset

-- Archived: nothing is open
update bpm_core.process_definition d set archived_at = bpm_core.now() where d.code = 'body';
select bpm_core.publish_starts('', d.id, d.published_version_id, null) from bpm_core.process_definition d where d.code = 'body';
select is(pg_temp.opens('body'), null, 'a process that is archived waits for nothing');

-- What is refused
create function pg_temp.faults(p_starts text) returns text[] language sql as
$$ select array_agg(f.code || ' ' || f.node_id || ': ' || f.message) from bpm.check_bpmn(pg_temp.file('x', p_starts)) f where f.severity = 'fault' $$;
select is(pg_temp.faults('<startEvent id="c"><conditionalEventDefinition><condition>${x > 1}</condition></conditionalEventDefinition></startEvent>'), array['UnsupportedElement c: startEvent "c" waits for a condition over variables, but before it starts there are none; not executed.'], 'a conditional start');
select is(pg_temp.faults(pg_temp.timer('<timeDuration>${patience}</timeDuration>', 't')), array['InvalidTimer t: Timer of startEvent "t": ${patience} is an expression, but before the process starts there are no variables.'], 'a timer from a variable');
select is(pg_temp.faults(pg_temp.message('a') || pg_temp.message('b')), array['MultipleStartEvents a: 2 start events wait for the message "order"; it could mean any of them.'], 'one message for two start events');
select is(pg_temp.faults(pg_temp.message('a', '')), array['UnknownReference a: startEvent "a" does not say which message it waits for.'], 'no message at all');
select is((select array_agg(f.code) from bpm.check_bpmn(test.bpmn('x', '<receiveTask id="r" messageRef="m" instantiate="true"/><endEvent id="e"/>' || test.flows('r>e'), '<message id="m" name="m"/>')) f where f.severity = 'fault'), '{NoStartEvent,UnsupportedElement,OrphanNode}', 'a receive task that instantiates');

select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');

-- What the audit would notice
select pg_temp.deploy(pg_temp.file('audit', pg_temp.message('by_message', 'm2') || pg_temp.timer('<timeCycle>R/PT1H</timeCycle>') || pg_temp.timer('<timeDuration>PT0S</timeDuration>', 'used'))) as v \gset
select pg_temp.deploy(pg_temp.file('audit', pg_temp.message('by_message', 'm2') || pg_temp.timer('<timeCycle>R/PT1H</timeCycle>') || pg_temp.timer('<timeDuration>PT0S</timeDuration>', 'used'), 'again')) as v \gset
select bpm.run_until_idle() as done \gset
select is_empty($$select * from bpm.check_invariants('')$$, 'nothing yet');
create function pg_temp.version(p_version integer) returns uuid language sql as
$$ select v.id from bpm_core.process_definition d join bpm_core.process_version v on v.definition_id = d.id where d.code = 'audit' and v.version = p_version $$;
select test.breaks($$update bpm_core.subscription set state = 'Closed' where process_version_id = pg_temp.version(2)$$, '{I-11}', 'a start event that waits for nothing');
select test.breaks($$update bpm_core.subscription set state = 'Open' where process_version_id = pg_temp.version(1)$$, '{I-11}', 'one of an old version that waits');
select test.breaks($$update bpm_core.subscription set name = 'x' where process_version_id = pg_temp.version(2)$$, '{I-11}', 'one that waits for something else');
select test.breaks($$insert into bpm_core.subscription (id, process_version_id, node_id, kind, name, created_at) select bpm_core.new_id(), pg_temp.version(2), 'by_message', 'Message', 'order-2', now()$$, '{I-11}', 'one that waits twice');
select test.breaks($$update bpm_core.subscription set node_id = 'x' where process_version_id = pg_temp.version(2)$$, '{I-11,I-27}', 'no such start event');
select test.breaks($$update bpm_core.timer set status = 'Cancelled' where process_version_id = pg_temp.version(2) and status = 'Scheduled'$$, '{I-10}', 'a start timer that is lost');
select test.breaks($$update bpm_core.timer set status = 'Scheduled' where process_version_id = pg_temp.version(1) and status = 'Cancelled'$$, '{I-10}', 'one of an old version that is due');
select test.breaks($$update bpm_core.timer set status = 'Scheduled' where process_version_id = pg_temp.version(2) and status = 'Fired'$$, '{I-10}', 'one that has fired is due again');
select test.breaks($$update bpm_core.timer set status = 'Fired' where process_version_id = pg_temp.version(2) and status = 'Scheduled'$$, '{I-10}', 'one that fired and started nothing');
select test.breaks($$update bpm_core.process_definition set archived_at = now() where code = 'audit'$$, '{I-10,I-11}', 'a process that is archived and still waits');
select test.breaks($$update bpm_core.message set started_id = bpm_core.new_id() where started_id is not null$$, '{I-27}', 'a message that started nothing');

select * from finish();
rollback;
