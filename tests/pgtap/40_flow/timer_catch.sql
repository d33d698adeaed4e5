-- Timer intermediate catch events: when they fall due, each once, oldest first.
begin;
select plan(32);
select bpm.set_clock('2031-03-01 08:00:00Z') is not null as set \gset
create function pg_temp.timer(p_process_instance_id uuid) returns bpm.timer language sql as
$$ select t from bpm.timer t where t.process_instance_id = p_process_instance_id order by t.scheduled_at desc limit 1 $$;

-- A duration
select test.deploy('pause', test.timer('wait', '<timeDuration>P1DT2H</timeDuration>') || test.service('after') || '<endEvent id="end"/>' || test.flows('start>wait', 'wait>after', 'after>end')) \gset
select bpm_core.now() as before \gset
select test.start('pause') as a \gset
select is(test.standing(:'a'), '{"wait Waiting"}', 'the token rests at the event');
select ok((t).scheduled_at between :'before'::timestamptz + interval '26 hours' and bpm_core.now() + interval '26 hours', 'due after the duration') from pg_temp.timer(:'a') t;
select is(concat_ws(' ', (t).kind, (t).rule, (t).status, (t).remaining, (t).node_id, (t).due_at = (t).scheduled_at), 'Duration P1DT2H Scheduled 1 wait t', 'its row') from pg_temp.timer(:'a') t;
select is(test.history(:'a', 'Timer%'), '{"TimerStarted 1"}', 'history tells that it runs');
select is(test.tick('timers'), 0, 'it does not fire before its time');
select bpm.advance_clock(interval '25 hours 59 minutes 45 seconds') is not null as moved \gset
select is((select k.next_due_at from bpm.tick() k), null, 'tick looks a little ahead, no further');
select bpm.advance_clock(interval '7 seconds') is not null as moved \gset
select is((select k.next_due_at from bpm.tick() k), (pg_temp.timer(:'a')).due_at, 'tick tells when the next one does, if within ten seconds');
select is(test.standing(:'a'), '{"wait Waiting"}', 'still not');
select bpm.advance_clock(interval '10 seconds') is not null as moved \gset
select w.lock_version as before_version from bpm_core.workflow_instance w where w.id = test.workflow(:'a') \gset
select is(test.tick('timers'), 1, 'then it fires');
select is(test.standing(:'a') || ((pg_temp.timer(:'a')).status), '{"after Waiting",Fired}', 'and the token goes on');
select is(test.tick('timers'), 0, 'once');
select is((select h.node_id || ' ' || (h.detail - 'timer') from bpm.get_history(:'a') h where h.kind = 'TimerFired'),
          format('wait {"interrupting": true, "scheduled_at": %s}', to_jsonb((pg_temp.timer(:'a')).scheduled_at)), 'history tells for when it was planned');
select is((select w.lock_version - :before_version from bpm_core.workflow_instance w where w.id = test.workflow(:'a')), 1, 'the instance is written once');

-- A date; one that is past fires at once
select test.deploy('date', test.timer('wait', '<timeDate>2031-03-10T12:00:00Z</timeDate>') || '<endEvent id="end"/>' || test.flows('start>wait', 'wait>end')) \gset
select test.start('date') as b \gset
select is((pg_temp.timer(:'b')).due_at, '2031-03-10 12:00:00Z'::timestamptz, 'due at the date');
select test.tick('timers') as early \gset
select is(test.status(:'b'), 'Running', 'not before');
select bpm.set_clock('2031-03-10 12:00:00.001Z') is not null as set \gset
select is(test.tick('timers') || test.status(:'b'), '1Completed', 'then it fires');
select test.start('date') as c \gset
select is((pg_temp.timer(:'c')).scheduled_at || ' ' || ((pg_temp.timer(:'c')).due_at > '2031-03-10 12:00:00Z'), '2031-03-10 12:00:00+00 true', 'a date that is past: planned for then, due now') from set_config('timezone', 'UTC', true);
select is(test.tick('timers') || test.status(:'c'), '1Completed', 'it fires at once');

-- From a variable
select test.deploy('said', test.timer('wait', '<timeDuration>${patience}</timeDuration>') || '<endEvent id="end"/>' || test.flows('start>wait', 'wait>end')) \gset
select test.start('said', '{"patience": "PT5M"}') as d \gset
select ok((pg_temp.timer(:'d')).due_at between bpm_core.now() + interval '5 minutes' - interval '10 seconds' and bpm_core.now() + interval '5 minutes', 'a duration from a variable');
select test.start('said', '{"patience": "soon"}') as e \gset
select is(test.standing(:'e') || test.incidents(:'e'), '{"wait Failed","InvalidTimer wait"}', 'one that gives no time is an incident');
select is((select i.detail from bpm.incident i where i.process_instance_id = :'e'), '{"timer": "wait", "rule": "${patience}", "value": "soon"}'::jsonb, 'with the value seen');
select test.start('said') as f \gset
select is(test.incidents(:'f') || (select array_agg(i.detail ->> 'value') from bpm.incident i where i.process_instance_id = :'f'), '{"InvalidTimer wait",NULL}', 'so is one that is missing');
select bpm.set_variables(:'e', '{"patience": "PT0S"}') is not null as mended \gset
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'e' \gset
select is(test.standing(:'e') || test.tick('timers')::text || test.status(:'e'), '{"wait Waiting",1,Completed}', 'mended, it is started anew; none at all is due at once');

-- Ends with its instance
select bpm.cancel_process(:'d') is not null as cancelled \gset
select is((pg_temp.timer(:'d')).status || test.history(:'d', 'Timer%')::text, 'Cancelled{"TimerStarted 1","TimerCancelled 1"}', 'cancelled with its instance');
select bpm.advance_clock(interval '1 hour') is not null as moved \gset
select is(test.tick('timers'), 0, 'and never due again');

-- 200 due at once: each once, oldest first, a batch at a time (A-08)
select test.deploy('many', test.timer('wait', '<timeDuration>${after}</timeDuration>') || '<endEvent id="end"/>' || test.flows('start>wait', 'wait>end')) \gset
select count(s.*) as started from bpm.start_processes((select jsonb_agg(jsonb_build_object('code', 'many', 'variables', jsonb_build_object('after', format('PT%sS', 1 + n * 37 % 200)))) from generate_series(1, 200) n)) s \gset
select bpm.advance_clock(interval '1 hour') is not null as moved \gset
create temp table fired (round integer, done integer, seen timestamptz);
insert into fired select 1, test.tick('timers', 80), null;
select is((select max(t.due_at) from bpm.timer t where t.status = 'Fired' and t.rule ~ 'PT' and t.due_at > bpm_core.now() - interval '59 minutes')
          < (select min(t.due_at) from bpm.timer t where t.status = 'Scheduled'), true, 'the oldest fire first');
insert into fired select n, test.tick('timers', 80), null from generate_series(2, 4) n;
select is((select array_agg(f.done order by f.round) from fired f), '{80,80,40,0}', 'a batch at a time, until none is left');
select is((select count(*) || ' ' || count(distinct h.detail ->> 'timer') from bpm_core.history_event h join bpm_core.workflow_instance w on w.id = h.workflow_instance_id
             join bpm.instance i on i.workflow_instance_id = w.id where i.process_code = 'many' and h.kind = 'TimerFired'), '200 200', 'each once');
select is((select count(*) from bpm.instance i where i.process_code = 'many' and i.status = 'Completed'), 200::bigint, 'and all go on');

-- The same with positions handed on
select count(s.*) as started from bpm.start_processes((select jsonb_agg(jsonb_build_object('code', 'many', 'variables', jsonb_build_object('after', format('PT%sS', 1 + n * 37 % 200)))) from generate_series(1, 100) n)) s \gset
select bpm.advance_clock(interval '1 hour') is not null as moved \gset
select (k.done ->> 'timers')::integer as d1, k.positions as p1 from bpm.tick(40) k \gset
select (k.done ->> 'timers')::integer as d2, k.positions as p2 from bpm.tick(40, :'p1') k \gset
select (k.done ->> 'timers')::integer as d3, k.positions as p3 from bpm.tick(40, :'p2') k \gset
select is(array[:d1, :d2, :d3], '{40,40,20}', 'with positions, too');

-- A cycle at a catch event is its first point
select test.deploy('cycle', test.timer('wait', '<timeCycle>R/PT10M</timeCycle>') || '<endEvent id="end"/>' || test.flows('start>wait', 'wait>end')) \gset
select test.start('cycle') as g \gset
select bpm.advance_clock(interval '10 minutes 1 second') is not null as moved \gset
select is(test.tick('timers') || test.status(:'g') || (select count(*) from bpm.timer t where t.process_instance_id = :'g'), '1Completed1', 'an event that is passed does not repeat');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
