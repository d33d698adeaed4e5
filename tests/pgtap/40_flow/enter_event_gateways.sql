-- Event-based gateways: the first event wins, the others are closed with it and history tells so.
begin;
select plan(24);
create function pg_temp.waits(p_process_instance_id uuid) returns text[] language sql as
$$ select coalesce(array_agg(x.node_id || ' ' || x.state order by x.node_id, x.at), '{}')
     from (select s.node_id, s.state::text, s.created_at as at from bpm_core.subscription s where s.workflow_instance_id = test.workflow(p_process_instance_id)
           union all select t.node_id, t.status::text, t.anchor_at from bpm_core.timer t where t.workflow_instance_id = test.workflow(p_process_instance_id)) x $$;
create function pg_temp.send(p_name text, p_key text, p_payload jsonb default '{}') returns text language sql as
$$ select m.state from bpm.correlate_message(p_name, p_key, p_payload) m $$;
select bpm.set_clock('2031-03-01 08:00:00Z') is not null as set \gset
select test.deploy('race', '<eventBasedGateway id="g"/><intermediateCatchEvent id="paid"><messageEventDefinition messageRef="m1"/></intermediateCatchEvent><receiveTask id="gone" messageRef="m2"/>'
  || test.timer('late', '<timeDuration>${patience}</timeDuration>') || test.service('ship') || test.service('chase') || '<endEvent id="end"/>'
  || test.flows('start>g', 'g>paid', 'g>gone', 'g>late', 'paid>ship', 'ship>end', 'gone>end', 'late>chase', 'chase>end'), '<message id="m1" name="paid"/><message id="m2" name="gone"/>') \gset

-- A message
select test.start('race', '{"patience": "PT1H"}', 'A') as a \gset
select is(test.standing(:'a') || pg_temp.waits(:'a'), '{"g Waiting","gone Open","late Scheduled","paid Open"}', 'one token, a wait for every branch');
select is((select array_agg(r.node_id || ' ' || r.state) from bpm.replay(test.workflow(:'a')) r), '{"g Waiting"}', 'replay says so, too');
select is(pg_temp.send('paid', 'A', '{"sum": 7}') || test.standing(:'a')::text, 'Correlated{"ship Waiting"}', 'the first takes the token on from its event');
select is(pg_temp.waits(:'a'), '{"gone Closed","late Cancelled","paid Consumed"}', 'the others are closed with it');
select is(test.history(:'a', 'M%') || test.history(:'a', '%Cancelled') || test.history(:'a', 'Sub%') , '{"MessageAwaited 2","MessageReceived 1","TimerCancelled 1","SubscriptionClosed 1"}', 'history tells the losers');
select is((select i.live_tokens || i.variables::text from bpm.instance i where i.process_instance_id = :'a'), '1{"sum": 7, "patience": "PT1H"}', 'one token, before and after; the payload is patched in');
select is(pg_temp.send('gone', 'A'), 'Buffered', 'the second comes too late');
select bpm.advance_clock(interval '2 hours') is not null as moved \gset
select is(test.tick('timers') || test.standing(:'a')::text, '0{"ship Waiting"}', 'so does the timer');

-- The timer
select test.start('race', '{"patience": "PT1H"}', 'B') as b \gset
select bpm.advance_clock(interval '61 minutes') is not null as moved \gset
select is(test.tick('timers') || test.standing(:'b')::text, '1{"chase Waiting"}', 'the timer first');
select is(pg_temp.waits(:'b') || pg_temp.send('paid', 'B'), '{"gone Closed","late Fired","paid Closed",Buffered}', 'closes the waits');

-- A receive task
select test.start('race', '{"patience": "PT1H"}', 'C') as c \gset
select is(pg_temp.send('gone', 'C') || test.status(:'c') || pg_temp.waits(:'c')::text, 'CorrelatedCompleted{"gone Consumed","late Cancelled","paid Closed"}', 'a receive task behind it is an event like others');

-- Messages that came before
select pg_temp.send('gone', 'D', '{"by": "gone"}') as one, pg_temp.send('paid', 'D', '{"by": "paid"}') as two \gset
select test.start('race', '{"patience": "PT1H"}', 'D') as d \gset
select is(test.standing(:'d') || (select array_agg(m.state order by m.received_at) from bpm.message m where m.correlation_key = 'D'), '{"g Waiting",Correlated,Correlated}', 'both are there already, both find their wait');
select bpm.run_until_idle() as done \gset
select is(pg_temp.waits(:'d') || test.history(:'d', 'MessageReceived'), '{"gone Closed","late Cancelled","paid Consumed","MessageReceived 1"}', 'one of them wins')
 where exists (select from bpm_core.subscription s where s.workflow_instance_id = test.workflow(:'d') and s.node_id = 'paid' and s.state = 'Consumed')
union all
select is(pg_temp.waits(:'d') || test.history(:'d', 'MessageReceived'), '{"gone Consumed","late Cancelled","paid Closed","MessageReceived 1"}', 'one of them wins')
 where not exists (select from bpm_core.subscription s where s.workflow_instance_id = test.workflow(:'d') and s.node_id = 'paid' and s.state = 'Consumed');
select is((select count(*) filter (where m.state = 'Buffered') || ' ' || count(*) filter (where m.state = 'Correlated') from bpm.message m where m.correlation_key = 'D'), '1 1', 'the other goes back to the buffer');

-- A branch that cannot be waited for stops the token; none of the others may take it meanwhile
select test.start('race', '{}', 'E') as e \gset
select is(test.standing(:'e') || test.incidents(:'e') || pg_temp.waits(:'e'), '{"g Failed","InvalidTimer g"}', 'a timer without a time');
select is(pg_temp.send('paid', 'E'), 'Buffered', 'no message is taken');
select bpm.set_variables(:'e', '{"patience": "PT5M"}') is not null as mended \gset
select bpm.resolve_incident(x.incident_id) is not null as resolved from bpm.incident x where x.process_instance_id = :'e' \gset
select bpm.run_until_idle() as done \gset
select is(test.standing(:'e'), '{"ship Waiting"}', 'mended, it is entered anew and gets what was kept');
select test.start('race', '{"patience": "PT1H"}') as f \gset
select is(test.standing(:'f') || test.incidents(:'f') || pg_temp.waits(:'f'), '{"g Failed","CorrelationKeyMissing g","late Cancelled"}', 'a message without a key: one incident, nothing is left open');

-- Closed with its instance
select test.start('race', '{"patience": "PT1H"}', 'G') as g \gset
select bpm.cancel_process(:'g') is not null as cancelled \gset
select is(pg_temp.waits(:'g'), '{"gone Closed","late Cancelled","paid Closed"}', 'closed with its instance');

-- In a loop: every visit has its own waits
select test.deploy('ask', '<exclusiveGateway id="enter"/><eventBasedGateway id="g"/><intermediateCatchEvent id="again"><messageEventDefinition messageRef="m1"/></intermediateCatchEvent><intermediateCatchEvent id="stop"><messageEventDefinition messageRef="m2"/></intermediateCatchEvent><endEvent id="end"/>'
  || test.flows('start>enter', 'enter>g', 'g>again', 'g>stop', 'again>enter', 'stop>end'), '<message id="m1" name="again"/><message id="m2" name="stop"/>') \gset
select test.start('ask', '{}', 'H') as h \gset
select is(pg_temp.send('again', 'H') || pg_temp.send('again', 'H') || test.standing(:'h')::text, 'CorrelatedCorrelated{"g Waiting"}', 'round and round');
select is(pg_temp.waits(:'h'), '{"again Consumed","again Consumed","again Open","stop Closed","stop Closed","stop Open"}', 'with new waits');
select is(pg_temp.send('stop', 'H') || test.status(:'h'), 'CorrelatedCompleted', 'until the other comes');
-- Many at once
select count(s.*) as started from bpm.start_processes((select jsonb_agg(jsonb_build_object('code', 'race', 'business_key', 'M-' || n, 'variables', '{"patience": "PT1M"}'::jsonb)) from generate_series(1, 50) n)) s \gset
select count(*) as sent from generate_series(1, 50, 2) n cross join lateral bpm.correlate_message('paid', 'M-' || n) m \gset
select bpm.advance_clock(interval '2 minutes') is not null as moved \gset
select bpm.run_until_idle() as done \gset
select is((select array_agg(x.node_id || ' ' || x.n order by x.node_id) from (select k.node_id, count(*) as n from bpm_core.token k join bpm.instance i on i.workflow_instance_id = k.workflow_instance_id where i.business_key like 'M-%' group by 1) x), '{"chase 25","ship 25"}', 'fifty at once: each by one way');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
