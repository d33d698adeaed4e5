-- Timer boundary events: interrupting and not, cycles on their grid, and who wins when the task completes at the same time (A-10).
begin;
select plan(46);
select bpm.set_clock('2031-03-01 08:00:00Z') is not null as set \gset
create function pg_temp.timers(p_process_instance_id uuid) returns text[] language sql as
$$ select array_agg(t.node_id || ' ' || t.status order by t.scheduled_at, t.node_id) from bpm.timer t where t.process_instance_id = p_process_instance_id $$;

-- Interrupting
select test.deploy('cut', test.service('work') || test.timer('late', '<timeDuration>PT1H</timeDuration>', 'work') || test.service('chase') || '<endEvent id="end"/>'
  || test.flows('start>work', 'work>end', 'late>chase', 'chase>end')) \gset
select test.start('cut') as a \gset
select is(pg_temp.timers(:'a') || test.history(:'a', 'Timer%'), '{"late Scheduled","TimerStarted 1"}', 'the timer runs as long as its task');
select c.* from bpm.claim_tasks('w', '{work}', p_lease => interval '3 hours') c \gset a_
select bpm.advance_clock(interval '61 minutes') is not null as moved \gset
select is(test.tick('timers'), 1, 'it fires');
select is(test.standing(:'a'), '{"chase Waiting"}', 'the token leaves by it');
select is((select t.state from bpm.task t where t.task_id = :'a_task_id'), 'Cancelled', 'the task is closed');
select is((select e.state || ' ' || e.outcome from bpm.execution e where e.task_id = :'a_task_id'), 'Cancelled Cancelled', 'with its running attempt');
select is((select i.live_tokens from bpm.instance i where i.process_instance_id = :'a'), 1, 'one token, before and after');
-- The timer first, then the answer (A-10)
select is((select e.outcome::text from bpm.extend_leases(jsonb_build_array(jsonb_build_object('task_id', :'a_task_id', 'fencing_token', 1))) e), 'Cancelled', 'the worker hears it at its heartbeat');
select is((select c.outcome::text from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', :'a_task_id', 'fencing_token', 1))) c), 'Cancelled', 'or with its answer');
select is(test.standing(:'a'), '{"chase Waiting"}', 'which moves nothing: one path');
-- The answer first, then the timer (A-10)
select test.start('cut') as b \gset
select test.complete_next('work') as done from bpm.advance_clock(interval '61 minutes') \gset
select is(pg_temp.timers(:'b') || test.history(:'b', 'Timer%'), '{"late Cancelled","TimerStarted 1","TimerCancelled 1"}', 'a task that completes cancels its timer, though it was due');
select is(test.tick('timers') || test.status(:'b'), '0Completed', 'which fires no more');
-- Cancelled with its host in every other way
select test.start('cut') as c \gset
select bpm.cancel_process(:'c') is not null as cancelled \gset
select is(pg_temp.timers(:'c'), '{"late Cancelled"}', 'cancelling cancels it');

-- A task that failed for good is still under its timer
select test.start('cut') as d \gset
select test.fail_next('work', false) as failed \gset
select is(test.standing(:'d') || pg_temp.timers(:'d'), '{"work Failed","late Scheduled"}', 'the task is buried, its timer still runs');
select bpm.advance_clock(interval '61 minutes') is not null as moved \gset
select is(test.tick('timers') || test.standing(:'d')::text || test.incidents(:'d')::text, '1{"chase Waiting"}{}', 'it takes the stopped token; the incident is over');
select is((select d.state || ' ' || d.closed_by from bpm.dead_letter d where d.process_instance_id = :'d'), 'Discarded engine', 'so is the dead letter');

-- Not interrupting
select test.deploy('nudge', test.service('job') || test.timer('slow', '<timeDuration>PT10M</timeDuration>', 'job', false) || test.service('remind') || '<endEvent id="end"/><endEvent id="told"/>'
  || test.flows('start>job', 'job>end', 'slow>remind', 'remind>told')) \gset
select test.start('nudge') as e \gset
select c.* from bpm.claim_tasks('w', '{job}', p_lease => interval '3 hours') c \gset e_
select bpm.advance_clock(interval '11 minutes') is not null as moved \gset
select is(test.tick('timers') || test.standing(:'e')::text, '1{"job Waiting","remind Waiting"}', 'a second token goes; the first stays');
select is((select t.state from bpm.task t where t.task_id = :'e_task_id'), 'Executing', 'with its task in hand');
select is((select i.live_tokens from bpm.instance i where i.process_instance_id = :'e'), 2, 'both are live');
select is((select h.detail ->> 'parent' = t.token_id::text from bpm.get_history(:'e') h join bpm.task t on t.task_id = :'e_task_id' where h.kind = 'TokenBorn'), true, 'history tells of which token it was born');
select bpm.complete_task(:'e_task_id', :e_fencing_token) is not null as done \gset
select is(test.standing(:'e') || test.status(:'e'), '{"remind Waiting",Running}', 'the instance waits for the second');
select test.complete_next('remind') as told \gset
select is(test.status(:'e'), 'Completed', 'and ends with it');

-- A cycle keeps its grid; what was missed is made up for once and counts
select test.deploy('beat', test.service('task') || test.timer('every', '<timeCycle>R5/PT10M</timeCycle>', 'task', false) || '<endEvent id="end"/><endEvent id="beat_end"/>'
  || test.flows('start>task', 'task>end', 'every>beat_end')) \gset
select test.start('beat') as f \gset
select t.scheduled_at - interval '10 minutes' as anchor from bpm.timer t where t.process_instance_id = :'f' \gset
create function pg_temp.beats(p_process_instance_id uuid, p_anchor timestamptz) returns text[] language sql as
$$ select array_agg(round(extract(epoch from t.scheduled_at - p_anchor) / 60) || ' ' || t.status || ' ' || t.remaining order by t.scheduled_at) from bpm.timer t where t.process_instance_id = p_process_instance_id $$;
select is(pg_temp.beats(:'f', :'anchor'), '{"10 Scheduled 5"}', 'the first beat');
select bpm.advance_clock(interval '12 minutes') is not null as moved \gset
select is(test.tick('timers') || pg_temp.beats(:'f', :'anchor')::text, '1{"10 Fired 5","20 Scheduled 4"}', 'late by two minutes: the next is on the grid all the same');
select bpm.advance_clock(interval '23 minutes') is not null as moved \gset
select is(test.tick('timers') || pg_temp.beats(:'f', :'anchor')::text, '1{"10 Fired 5","20 Fired 4","40 Scheduled 2"}', 'one beat missed: made up for once, and used');
select is(test.tick('timers'), 0, 'not twice');
select bpm.advance_clock(interval '6 minutes') is not null as moved \gset
select is(test.tick('timers') || pg_temp.beats(:'f', :'anchor')::text, '1{"10 Fired 5","20 Fired 4","40 Fired 2","50 Scheduled 1"}', 'the fourth');
select bpm.advance_clock(interval '100 minutes') is not null as moved \gset
select is(test.tick('timers') || test.tick('timers')::text || pg_temp.beats(:'f', :'anchor')::text, '10{"10 Fired 5","20 Fired 4","40 Fired 2","50 Fired 1"}', 'the fifth is the last');
select is(test.visits(:'f', 'beat_end') || ' ' || test.standing(:'f')::text, '4 {"task Waiting"}', 'four went by the beat, the task still waits');
select is((select array_agg(x order by x) from unnest(test.history(:'f', 'Timer%')) x), '{"TimerFired 4","TimerStarted 4"}', 'history has every start and every beat');
select test.start('beat') as g \gset
select bpm.advance_clock(interval '11 minutes') is not null as moved \gset
select test.tick('timers') as beat \gset
select count(*) as done from bpm.claim_tasks('w', '{task}', 2) c cross join lateral bpm.complete_task(c.task_id, c.fencing_token) d \gset
select is(pg_temp.timers(:'g') || test.status(:'g'), '{"every Fired","every Cancelled",Completed}', 'a task that completes ends the cycle');

-- A cycle with a start of its own, in the past
select test.deploy('fixed', test.service('fixed_task') || test.timer('every', '<timeCycle>R/2031-02-28T09:00:00Z/P1D</timeCycle>', 'fixed_task', false) || '<endEvent id="end"/>'
  || test.flows('start>fixed_task', 'fixed_task>end', 'every>end')) \gset
select bpm.set_clock('2031-03-20 10:00:00Z') is not null as set \gset
select test.start('fixed') as h \gset
select is((select t.scheduled_at from bpm.timer t where t.process_instance_id = :'h'), '2031-03-21 09:00:00Z'::timestamptz, 'the first beat to come of a grid that began before');
select bpm.set_clock('2031-03-24 09:30:00Z') is not null as set \gset
select test.tick('timers') as fired \gset
select is((select array_agg(t.scheduled_at at time zone 'UTC' || ' ' || t.status order by t.scheduled_at) from bpm.timer t where t.process_instance_id = :'h'),
          '{"2031-03-21 09:00:00 Fired","2031-03-25 09:00:00 Scheduled"}', 'after four days of nothing: once, then on the grid');

-- Several timers on one task
select test.deploy('both', test.service('twice') || test.timer('soon', '<timeDuration>PT1M</timeDuration>', 'twice', false) || test.timer('soon2', '<timeDuration>PT2M</timeDuration>', 'twice', false)
  || test.timer('final', '<timeDuration>PT3M</timeDuration>', 'twice') || '<endEvent id="end"/><endEvent id="n1"/><endEvent id="n2"/>' || test.service('gone')
  || test.flows('start>twice', 'twice>end', 'soon>n1', 'soon2>n2', 'final>gone', 'gone>end')) \gset
select test.start('both') as i \gset
select bpm.advance_clock(interval '1 hour') is not null as moved \gset
select is(array[test.tick('timers'), test.tick('timers'), test.tick('timers'), test.tick('timers')], '{1,1,1,0}', 'all due at once: one after the other, the oldest first');
select is((select array_agg(h.node_id order by h.seq) from bpm.get_history(:'i') h where h.kind = 'TimerFired'), '{soon,soon2,final}', 'none is lost');
select is(test.standing(:'i'), '{"gone Waiting"}', 'the interrupting one takes the token');
select test.start('both') as j \gset
select bpm.advance_clock(interval '90 seconds') is not null as moved \gset
select (k.done ->> 'timers')::integer as first, k.positions from bpm.tick() k \gset
select bpm.advance_clock(interval '1 hour') is not null as moved \gset
select (k.done ->> 'timers')::integer as second, k.positions from bpm.tick(p_positions => :'positions') k \gset
select (k.done ->> 'timers')::integer as third from bpm.tick(p_positions => :'positions') k \gset
select is(array[:first, :second, :third], '{1,1,1}', 'with positions, too');

-- A rule that gives no time: the task is not offered while its token is stopped
select test.deploy('wrong', test.service('guarded') || test.timer('limit', '<timeDuration>${limit}</timeDuration>', 'guarded') || test.timer('fine', '<timeDuration>PT1M</timeDuration>', 'guarded', false) || '<endEvent id="end"/>'
  || test.flows('start>guarded', 'guarded>end', 'limit>end', 'fine>end')) \gset
select test.start('wrong') as k \gset
select is(test.standing(:'k') || test.incidents(:'k'), '{"guarded Failed","InvalidTimer guarded"}', 'an incident on the task');
select is((select count(*) from bpm.claim_tasks('w', '{guarded}')), 0::bigint, 'which nobody is given');
select is(pg_temp.timers(:'k'), '{"fine Cancelled"}', 'and whose other timer does not run');
select bpm.set_variables(:'k', '{"limit": "PT5M"}') is not null as mended \gset
select bpm.resolve_incident(x.incident_id) is not null as resolved from bpm.incident x where x.process_instance_id = :'k' \gset
select is(test.standing(:'k') || pg_temp.timers(:'k'), '{"guarded Waiting","fine Cancelled","fine Scheduled","limit Scheduled"}', 'mended, the node is entered anew');
select test.complete_next('guarded') as done \gset
select is(test.status(:'k') || (select count(*) from bpm.claim_tasks('w', '{guarded}')), 'Completed0', 'one task, one answer');

-- A task in a loop, interrupted, entered again: the old work item stays closed, the old timer does not fire (C08)
select test.deploy('round', test.service('loop_task') || test.timer('limit', '<timeDuration>PT1M</timeDuration>', 'loop_task') || '<exclusiveGateway id="enter"/><endEvent id="end"/>'
  || test.flows('start>enter', 'enter>loop_task', 'limit>enter', 'loop_task>end')) \gset
select test.start('round') as l \gset
select c.* from bpm.claim_tasks('w', '{loop_task}', p_lease => interval '1 hour') c \gset l_
select bpm.advance_clock(interval '61 seconds') is not null as moved \gset
select test.tick('timers') as fired \gset
select is((select array_agg(t.state order by t.task_id) from bpm.task t where t.process_instance_id = :'l') || pg_temp.timers(:'l'), '{Cancelled,Ready,"limit Fired","limit Scheduled"}', 'entered again with a new task and a new timer');
select is((select c.outcome::text from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', :'l_task_id', 'fencing_token', :l_fencing_token))) c), 'Cancelled', 'the old work item is closed');
select is((select t.visit from bpm_core.token t where t.workflow_instance_id = test.workflow(:'l')), 2, 'at the second visit');
select test.complete_next('loop_task') as done \gset
select is(test.status(:'l') || pg_temp.timers(:'l')::text, 'Completed{"limit Fired","limit Cancelled"}', 'the new one ends it');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
