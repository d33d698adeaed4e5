-- bpm.tick: does what has become due, once, however often it is called.
begin;
select plan(28);
select test.deploy('timed', test.timer('wait', '<timeDuration>PT8S</timeDuration>') || '<endEvent id="end"/>' || test.flows('start>wait', 'wait>end')) \gset
select bpm.deploy_bpmn(test.linear('job', 'work')) is not null as deployed \gset

-- Nothing
select k.done, k.positions, k.next_due_at is null as idle from bpm.tick() k \gset e_
select is((select array_agg(d.key || ' ' || d.value order by d.key) from jsonb_each_text(:'e_done') d), '{"approvals 0","commands 0","decisions 0","domain_events 0","events 0","inbox 0","leases 0","messages 0","timers 0","tokens 0","unknown 0"}', 'nothing due: every kind says so');
select ok(:'e_idle', 'and nothing planned');
select ok((:'e_positions'::jsonb) ? 'timers', 'positions all the same');
select is((select p.leases - p.timers from (select (:'e_positions'::jsonb #>> '{leases,reached_at}')::timestamptz as leases, (:'e_positions'::jsonb #>> '{timers,reached_at}')::timestamptz as timers) p) between '0.9 seconds' and '1.1 seconds', true,
  'that of leases has reached the clock: they are written a second before they run out, or earlier; timers may be due when they are written');

-- What is due when
select test.start('timed') as a \gset
select is((select k.next_due_at from bpm.tick() k), (select t.due_at from bpm.timer t where t.process_instance_id = :'a'), 'the next timer');
select m.message_id as m from bpm.correlate_message('x', 'y', '{}', interval '20 seconds') m \gset

-- Several kinds in one tick
select test.start('job') as b \gset
select count(*) as claimed from bpm.claim_tasks('w', '{work}', p_lease => interval '10 seconds') \gset
select bpm.advance_clock(interval '40 seconds') is not null as moved \gset
select k.done, k.positions from bpm.tick(p_positions => :'e_positions') k \gset d_
select is(:'d_done'::jsonb @> '{"timers": 1, "leases": 1, "messages": 1, "inbox": 0, "tokens": 0}', true, 'a timer, a lease and a message in one tick');
select is(test.status(:'a') || (select m.state from bpm.message m where m.id = :'m') || (select t.state from bpm.task t where t.process_instance_id = :'b'), 'CompletedExpiredReady', 'each has had its effect');
select is((select sum(v.value::integer) from bpm.tick(p_positions => :'d_positions') k cross join lateral jsonb_each_text(k.done) v), 0::bigint, 'another tick does nothing');
select is((select sum(v.value::integer) from bpm.tick() k cross join lateral jsonb_each_text(k.done) v), 0::bigint, 'nor one that begins anew');
select is((select count(*) from bpm.get_history(:'a') h where h.kind = 'TimerFired'), 1::bigint, 'once');

-- A limit for each kind
select count(test.start('timed')) as started from generate_series(1, 5) \gset
select bpm.advance_clock(interval '40 seconds') is not null as moved \gset
select (k.done ->> 'timers')::integer as t1, k.positions as p1 from bpm.tick(2) k \gset
select (k.done ->> 'timers')::integer as t2, k.positions as p2 from bpm.tick(2, :'p1') k \gset
select (k.done ->> 'timers')::integer as t3, k.positions as p3 from bpm.tick(2, :'p2') k \gset
select (k.done ->> 'timers')::integer as t4 from bpm.tick(2, :'p3') k \gset
select is(array[:t1, :t2, :t3, :t4], '{2,2,1,0}', 'at most the limit, until nothing is left');

select bpm.set_setting('engine.timer_batch_size', '3') is not null as set \gset
select count(test.start('timed')) as started from generate_series(1, 5) \gset
select bpm.advance_clock(interval '40 seconds') is not null as moved \gset
select (k.done ->> 'timers')::integer as t1 from bpm.tick() k \gset
select (k.done ->> 'timers')::integer as t2 from bpm.tick(null) k \gset
select is(array[:t1, :t2], '{3,2}', 'without a limit the setting is it');

-- A straggler behind every position is found by a look back or the half-minute scan
select k.positions as p from bpm.tick() k \gset
select test.start('timed') as late \gset
update bpm_core.timer t set due_at = bpm_core.now() - interval '1 hour' where t.workflow_instance_id = test.workflow(:'late');
select bpm.advance_clock(interval '31 seconds') is not null as moved \gset
select is((select (k.done ->> 'timers')::integer from bpm.tick(p_positions => :'p') k), 1, 'one that appears behind the position is not lost');

-- Refused
select throws_ok($$select * from bpm.tick(0)$$, 'BP422', null, 'limit 0');
select throws_ok($$select * from bpm.tick(1001)$$, 'BP422', null, 'limit 1001');
select throws_ok($$select * from bpm.tick(10, '"x"')$$, 'BP400', null, 'positions that are a text');
select throws_ok($$select * from bpm.tick(10, '[1]')$$, 'BP400', null, 'an array');
select throws_ok($$select * from bpm.tick(10, '{"timers": 5}')$$, 'BP400', null, 'a number for a kind');
select throws_ok($$select * from bpm.tick(10, '{"timers": {"when": 5}}')$$, 'BP400', null, 'an unknown field');
select throws_ok($$select * from bpm.tick(10, '{"timers": {"reached_at": "soon"}}')$$, 'BP400', null, 'a time that is none');
select throws_ok($$select * from bpm.tick(10, (select c.positions from bpm.claim_tasks_at('w', '{work}') c))$$, 'BP400', null, 'positions of a claim');
select throws_ok($$select * from bpm.tick(p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select lives_ok($$select * from bpm.tick(1, 'null')$$, 'JSON null is none');

-- Tenants
select bpm.create_tenant('Other', 'other') is not null as made \gset
select test.start('timed') as ours \gset
select bpm.advance_clock(interval '1 minute') is not null as moved \gset
select is((select sum(v.value::integer) from bpm.tick(p_tenant_id => 'other') k cross join lateral jsonb_each_text(k.done) v), 0::bigint, 'one tenant''s tick does nothing for another');
select is(test.tick('timers'), 1, 'its own does');

-- run_until_idle gives up after a thousand ticks
select count(m.*) as sent from generate_series(1, 1001) n cross join lateral bpm.correlate_message('never', 'k' || n, '{}', interval '1 second') m \gset
select bpm.advance_clock(interval '2 seconds') is not null as moved \gset
select throws_ok($$select bpm.run_until_idle(1)$$, 'BP429', null, 'a thousand and one things, one at a time, are too many for run_until_idle');
select is(bpm.run_until_idle(), 1001, 'a thousand at a time are not');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
