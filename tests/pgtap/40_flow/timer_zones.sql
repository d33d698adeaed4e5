-- Timers of running instances: time zones, cron rules, and what happens to occurrences that were missed.
begin;
select no_plan();
set local timezone = 'UTC';
select bpm.set_clock('2031-03-28 07:00:00Z') is not null as set \gset
create function pg_temp.timers(p_process_instance_id uuid) returns text[] language sql as
$$ select array_agg(concat_ws(' ', t.status, to_char(t.scheduled_at, 'MM-DD HH24:MI'), t.remaining) order by t.scheduled_at, t.timer_id) from bpm.timer t where t.process_instance_id = p_process_instance_id $$;
create function pg_temp.boundary(p_rule text, p_attributes text default '', p_on_event text default '', p_interrupting boolean default false) returns text language sql as
$$ select test.service('work') || format('<boundaryEvent id="nag" attachedToRef="work" cancelActivity="%s" %s><timerEventDefinition %s><timeCycle>%s</timeCycle></timerEventDefinition></boundaryEvent>', p_interrupting::text, p_on_event, p_attributes, p_rule)
   || '<userTask id="look"/><endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>work', 'work>end', 'nag>look', 'look>end2') $$;

-- C17: daily at nine in Berlin, over the change of the clocks (30 March 2031)
select test.deploy('daily', pg_temp.boundary('0 9 * * *', 'bpm:timeZone="Europe/Berlin"')) \gset
select test.start('daily') as a \gset
select is((select concat_ws(' ', t.kind, t.rule, t.time_zone, t.catch_up, t.remaining) from bpm.timer t where t.process_instance_id = :'a'), 'Cron 0 9 * * * Europe/Berlin Once', 'its row');
select bpm.set_clock('2031-03-28 12:00Z') is not null as moved, bpm.run_until_idle() as done \gset
select bpm.set_clock('2031-03-29 12:00Z') is not null as moved, bpm.run_until_idle() as done \gset
select bpm.set_clock('2031-03-30 12:00Z') is not null as moved, bpm.run_until_idle() as done \gset
select bpm.set_clock('2031-03-31 12:00Z') is not null as moved, bpm.run_until_idle() as done \gset
select is(pg_temp.timers(:'a'), '{"Fired 03-28 08:00","Fired 03-29 08:00","Fired 03-30 07:00","Fired 03-31 07:00","Scheduled 04-01 07:00"}', '9:00 local on each day');
select is((select count(*) from bpm.task t where t.process_instance_id = :'a' and t.node_id = 'look'), 4::bigint, 'each fired once');

-- Where the zone is said: the text, the definition, the event, the setting
select bpm.set_setting('engine.time_zone', '"Asia/Tokyo"') is not null as set \gset
select test.deploy('z1', pg_temp.boundary('CRON_TZ=America/New_York 0 9 * * *', 'bpm:timeZone="Europe/Berlin"')) \gset
select test.deploy('z2', pg_temp.boundary('0 9 * * *', 'bpm:timeZone="Europe/Berlin"', 'bpm:timeZone="Europe/London"')) \gset
select test.deploy('z3', pg_temp.boundary('0 9 * * *', '', 'bpm:timeZone="Europe/London"')) \gset
select test.deploy('z4', pg_temp.boundary('0 9 * * *')) \gset
select test.deploy('z5', test.timer('wait', '<timeDate>2031-05-01T09:00</timeDate>') || '<endEvent id="end"/>' || test.flows('start>wait', 'wait>end')) \gset
select count(test.start(z)) as started from unnest('{z1,z2,z3,z4,z5}'::text[]) z \gset
select is((select array_agg(t.time_zone || to_char(t.scheduled_at, ' HH24:MI') order by i.process_code) from bpm.instance i join bpm.timer t on t.process_instance_id = i.process_instance_id where i.process_code ~ '^z'),
  '{"America/New_York 13:00","Europe/Berlin 07:00","Europe/London 08:00","Asia/Tokyo 00:00","Asia/Tokyo 00:00"}', 'text, definition, event, setting, in this order');
select bpm.set_setting('engine.time_zone', null) as reset \gset
select throws_ok($$select bpm.set_setting('engine.time_zone', '"CEST"')$$, 'BP400', 'engine.time_zone takes the name of a time zone, such as Europe/Berlin, not "CEST".', 'the setting wants a zone');

-- At a catch event and an interrupting boundary a cron rule is its next occurrence, once
select bpm.set_clock('2031-06-01 00:30:00Z') is not null as set \gset
select test.deploy('once', test.timer('wait', '<timeCycle>0 0 12 * * ?</timeCycle>') || '<endEvent id="end"/>' || test.flows('start>wait', 'wait>end')) \gset
select test.start('once') as b \gset
select test.deploy('stop', pg_temp.boundary('@hourly', '', '', true)) \gset
select test.start('stop') as c \gset
select bpm.set_clock('2031-06-01 12:00:01Z') is not null as moved, bpm.run_until_idle() as done \gset
select is(test.status(:'b') || pg_temp.timers(:'b')::text, 'Completed{"Fired 06-01 12:00"}', 'catch event');
select is(test.standing(:'c') || pg_temp.timers(:'c'), '{"look Waiting","Fired 06-01 01:00"}', 'interrupting boundary');

-- A rule from a variable may be a cycle, a cron rule, or neither
select test.deploy('said', pg_temp.boundary('${rule}')) \gset
select count(test.start('said', jsonb_build_object('rule', r))) as started from unnest('{R2/PT1H,"CRON_TZ=Asia/Tokyo 0 9 * * *","0 0 31 2 *","every hour",""}'::text[]) r \gset
select is((select array_agg(t.kind || to_char(t.scheduled_at, ' DD HH24:MI') order by t.kind desc) from bpm.instance i join bpm.timer t on t.process_instance_id = i.process_instance_id where i.process_code = 'said'),
  '{"Cycle 01 13:00","Cron 02 00:00"}', 'of either kind');
select is((select array_agg(i.detail ->> 'value' order by i.detail ->> 'value' collate "C") from bpm.incident i where i.code = 'InvalidTimer' and i.node_id = 'work'), '{"","0 0 31 2 *","every hour"}', 'or an incident');

-- Expressions that do more than name a variable
select test.deploy('computed', test.timer('wait', '<timeDuration>PT${minutes + 1}M</timeDuration>') || test.timer('wait2', '<timeDate>= now() + duration(patience)</timeDate>') || '<endEvent id="end"/>' || test.flows('start>wait', 'wait>wait2', 'wait2>end')) \gset
select bpm.set_clock('2031-06-01 12:30:00Z') is not null as set \gset
select test.start('computed', '{"minutes": 4, "patience": "P1D"}') as x \gset
select is(test.incidents(:'x')::text || pg_temp.timers(:'x')::text, '{}{"Scheduled 06-01 12:35 1"}', 'a text with an expression in it');
select bpm.set_clock('2031-06-01 12:36:00Z') is not null as set, bpm.run_until_idle() as done \gset
select is(pg_temp.timers(:'x'), '{"Fired 06-01 12:35 1","Scheduled 06-02 12:36 1"}', 'a calculation');
select bpm.set_clock('2031-06-01 12:00:01Z') is not null as set \gset

-- Downtime of three and a half days: Once, All, Skip
select count(test.deploy(x.code, pg_temp.boundary('0 12 * * *', x.attribute))) as deployed from (values ('miss-once', ''), ('miss-all', 'bpm:catchUp="All"'), ('miss-skip', 'bpm:catchUp="Skip"')) x (code, attribute) \gset
select test.deploy('cycle-skip', pg_temp.boundary('R5/PT24H', 'bpm:catchUp="Skip"')) \gset
select test.deploy('cycle-all', pg_temp.boundary('R5/PT24H', 'bpm:catchUp="All"')) \gset
select test.start('miss-once') as o, test.start('miss-all') as a, test.start('miss-skip') as s, test.start('cycle-skip') as cs, test.start('cycle-all') as ca \gset
select bpm.set_clock('2031-06-05 00:30:00Z') is not null as moved, bpm.run_until_idle() as done \gset
select is(pg_temp.timers(:'o'), '{"Fired 06-02 12:00","Scheduled 06-05 12:00"}', 'Once: one firing makes up for three');
select is(pg_temp.timers(:'a'), '{"Fired 06-02 12:00","Fired 06-03 12:00","Fired 06-04 12:00","Scheduled 06-05 12:00"}', 'All: one by one');
select is(pg_temp.timers(:'s'), '{"Cancelled 06-02 12:00","Scheduled 06-05 12:00"}', 'Skip: none');
select is(pg_temp.timers(:'cs'), '{"Cancelled 06-02 12:00 5","Scheduled 06-05 12:00 2"}', 'missed ones count as used');
select is(pg_temp.timers(:'ca'), '{"Fired 06-02 12:00 5","Fired 06-03 12:00 4","Fired 06-04 12:00 3","Scheduled 06-05 12:00 2"}', 'so do those that were made up for');
select is((select array_agg(i.process_code || ' ' || (select count(*) from bpm.task t where t.process_instance_id = p.id and t.node_id = 'look') order by i.process_code)
             from unnest(array[:'o', :'a', :'s', :'cs', :'ca']::uuid[]) p(id) join bpm.instance i on i.process_instance_id = p.id), '{"cycle-all 3","cycle-skip 0","miss-all 3","miss-once 1","miss-skip 0"}', 'and so many came of it');
select is((select h.detail - 'timer' from bpm.get_history(:'s') h where h.kind = 'TimerCancelled'), '{"missed": true, "scheduled_at": "2031-06-02T12:00:00+00:00"}'::jsonb, 'history says that it was missed');
select bpm.set_clock('2031-06-05 12:00:59Z') is not null as moved, bpm.run_until_idle() as done \gset
select is(pg_temp.timers(:'s'), '{"Cancelled 06-02 12:00","Fired 06-05 12:00","Scheduled 06-06 12:00"}', 'found within a minute it is not missed');
select bpm.set_clock('2031-07-01 00:00:00Z') is not null as moved, bpm.run_until_idle() as done \gset
select is(pg_temp.timers(:'cs'), '{"Cancelled 06-02 12:00 5","Fired 06-05 12:00 2","Cancelled 06-06 12:00 1"}', 'a cycle whose last occurrence was missed ends');
select is(test.standing(:'cs'), '{"look Waiting","work Waiting"}', 'its host waits on');

-- A timer that does not repeat is never skipped
select test.deploy('must', '<intermediateCatchEvent id="wait"><timerEventDefinition bpm:catchUp="Skip"><timeDuration>PT1H</timeDuration></timerEventDefinition></intermediateCatchEvent><endEvent id="end"/>' || test.flows('start>wait', 'wait>end')) \gset
select test.start('must') as m \gset
select bpm.advance_clock(interval '1 day') is not null as moved, bpm.run_until_idle() as done \gset
select is(test.status(:'m'), 'Completed', 'late, but fired');

-- What is refused
select is((select array_agg(f.code || ': ' || f.message order by x.n) from (values
    (1, '0 0 31 2 *', ''), (2, '0 9 * *', ''), (3, 'CRON_TZ=Europe/Atlantis 0 9 * * *', ''), (4, '0 9 * * *', 'bpm:timeZone="CEST"'), (5, '0 9 * * *', 'bpm:catchUp="Never"'), (6, '${rule}', 'bpm:timeZone="Mars"')) x (n, rule, attributes)
   cross join lateral bpm.check_bpmn(test.bpmn('x', '<startEvent id="start"/>' || pg_temp.boundary(x.rule, x.attributes))) f where f.severity = 'fault'),
  array['InvalidTimer: Timer of boundaryEvent "nag": ''0 0 31 2 *'' never comes: there is no such day within 100 years.',
        'InvalidTimer: Timer of boundaryEvent "nag": ''0 9 * *'' is neither an ISO 8601 repeating interval nor a cron rule: it has not 5, 6 or 7 fields.',
        'InvalidTimer: Timer of boundaryEvent "nag": ''CRON_TZ=Europe/Atlantis 0 9 * * *'' names a time zone the server does not know.',
        'InvalidTimer: Timer of boundaryEvent "nag": ''CEST'' is no time zone the server knows.',
        'InvalidTimer: Timer of boundaryEvent "nag": bpm:catchUp=''Never'' is not Once, All or Skip.',
        'InvalidTimer: Timer of boundaryEvent "nag": ''Mars'' is no time zone the server knows.'], 'by name');
select is((select f.code || ': ' || f.message from bpm.check_bpmn(test.bpmn('x', '<startEvent id="start"/>' || pg_temp.boundary('0 0 9 ? * 2'))) f),
  'CronWeekdayNumber: Timer of boundaryEvent "nag": ''0 0 9 ? * 2'' names days of the week by numbers, which engines count differently; taken as MON.', 'a weekday by number is a warning');

select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
