-- bpm.claim_tasks_at: claims from where the caller's positions stand (law 12), and says when to come again.
begin;
select plan(45);
select bpm.deploy_bpmn(test.linear('small', 'pack')) is not null as deployed \gset
select test.deploy('levels', test.service('rush', 'bpm:priority="high"') || '<endEvent id="end"/>' || test.flows('start>rush', 'rush>end')) \gset

-- Empty
select c.tasks, c.positions, c.next_due_at is null as idle from bpm.claim_tasks_at('w', '{pack,rush}') c \gset e_
select is(:'e_tasks'::jsonb, '[]'::jsonb, 'nothing ready: no tasks');
select ok(:'e_idle', 'and none planned');
select is((select array_agg(k.key || ' ' || (select string_agg(l, '' order by l) from jsonb_object_keys(k.value) l) order by k.key) from jsonb_each(:'e_positions') k), '{"pack 1","rush 0"}',
          'positions all the same: one per type and level it has');

-- The row it hands out
select test.start('small', '{"n": 1}', 'B-1') as one \gset
select bpm_core.now() as before \gset
select c.tasks, c.positions from bpm.claim_tasks_at('w1', '{rush,pack}', 10, interval '40 seconds', 'r-1', :'e_positions') c \gset a_
select is((select array_agg(k order by k) from jsonb_object_keys(:'a_tasks'::jsonb -> 0) k),
          '{attempt,business_key,fencing_token,headers,lease_until,node_id,process_instance_id,task_id,task_type,variables,workflow_instance_id}', 'a task has the columns of claim_tasks');
select is((:'a_tasks'::jsonb -> 0) - '{task_id,lease_until}'::text[],
          jsonb_build_object('attempt', 1, 'business_key', 'B-1', 'fencing_token', 1, 'headers', '{}'::jsonb, 'node_id', 'pack', 'task_type', 'pack', 'variables', '{"n": 1}'::jsonb,
                             'process_instance_id', :'one', 'workflow_instance_id', test.workflow(:'one')), 'with its values');
select ok((:'a_tasks'::jsonb #>> '{0,lease_until}')::timestamptz between :'before'::timestamptz + interval '40 seconds' and bpm_core.now() + interval '40 seconds', 'and the lease asked for');
select is((select t.worker_id || ' ' || t.claim_request_id from bpm_core.task_instance t where t.id = (:'a_tasks'::jsonb #>> '{0,task_id}')::uuid), 'w1 r-1', 'the row keeps who claimed, in which request');

-- Round trips: everything is handed out once, in order, whatever the batch
select count(test.start('small', jsonb_build_object('n', n))) as started from generate_series(1, 25) n \gset
create temp table got (n integer, round integer);
create temp table kept (positions jsonb);
insert into kept values (:'a_positions');
create function pg_temp.claim_round(p_round integer, p_limit integer) returns integer language plpgsql as $$
declare
  r_claim record;
begin
  select c.* into r_claim from bpm.claim_tasks_at('w1', '{pack,rush}', p_limit, null, null, (select k.positions from kept k)) c;
  insert into got select (t -> 'variables' ->> 'n')::integer, p_round from jsonb_array_elements(r_claim.tasks) t;
  update kept set positions = r_claim.positions;
  return jsonb_array_length(r_claim.tasks);
end $$;
select is((select array_agg(pg_temp.claim_round(r, 10)) from generate_series(1, 4) r), '{10,10,5,0}', 'batch by batch until nothing is left');
select is((select array_agg(g.n order by g.ctid) from got g), (select array_agg(n) from generate_series(1, 25) n), 'each once, oldest first');
select count(test.start('small', jsonb_build_object('n', n))) as started from generate_series(26, 28) n \gset
select is(pg_temp.claim_round(5, 10), 3, 'what comes later is found from the position reached');
select count(test.start('levels', '{"n": 100}')), count(test.start('small', '{"n": 29}')) from generate_series(1, 2) \gset
select is((select array_agg(pg_temp.claim_round(6, 3) order by r) from generate_series(1, 1) r), '{3}', 'a limit across levels');
select is((select array_agg(g.n order by g.ctid) from got g where g.round = 6), '{100,100,29}', 'takes the high level first');
select is(pg_temp.claim_round(7, 3), 1, 'the level that was cut off goes on where it stood');

-- The position moves past what was handed out, and a look back finds what appeared behind it
select is((select (k.positions #>> '{pack,1,reached_id}')::uuid from kept k), (select t.id from bpm_core.task_instance t where t.task_type = 'pack' order by t.available_at desc, t.id desc limit 1),
          'the position stands at the last row handed out');
select count(test.start('small', '{"n": 30}')) as started \gset
update bpm_core.task_instance t set available_at = bpm_core.now() - interval '1 hour' where t.task_type = 'pack' and t.state = 'Ready';
select bpm.advance_clock(interval '2 seconds') is not null as moved \gset
select is((select sum(pg_temp.claim_round(8, 3)) from generate_series(1, 2)), 1::bigint, 'a straggler far behind every position is found by a look back or the half-minute claim')
  from bpm.advance_clock(interval '31 seconds');
select is((select count(*) from bpm.task t where t.state = 'Ready' and t.task_type in ('pack', 'rush')), 0::bigint, 'nothing is left');

-- Positions of types not asked for are dropped
select is((select array_agg(k) from jsonb_object_keys((select c.positions from bpm.claim_tasks_at('w', '{rush}', p_positions => (select k.positions from kept k)) c)) k), '{rush}',
          'positions of other types are not kept: they would grow stale');

-- When to come again
select test.start('small') as later \gset
update bpm_core.task_instance t set available_at = '2100-01-01' where t.workflow_instance_id = test.workflow(:'later');
select is((select c.next_due_at from bpm.claim_tasks_at('w', '{pack,rush}', 5, p_positions => (select k.positions from kept k)) c), '2100-01-01'::timestamptz, 'the next task that is planned');
select is((select c.next_due_at from bpm.claim_tasks_at('w', '{rush}', 5) c), null, 'of the types asked for');
select count(test.start('small')) as started from generate_series(1, 2) \gset
select is((select jsonb_array_length(c.tasks) || ' ' || coalesce(c.next_due_at::text, 'at once') from bpm.claim_tasks_at('w', '{pack}', 1) c), '1 at once', 'a full batch: come again at once');

-- A scan of everything ends with the first batch that passes what was reached before, however much is left (a long queue must not be walked from its head again and again)
select count(test.start('small')) as started from generate_series(1, 6) \gset
select test.deploy('slowly', test.service('slow', 'bpm:priority="low"') || '<endEvent id="end"/>' || test.flows('start>slow', 'slow>end')) \gset
select c.positions as p1 from bpm.claim_tasks_at('w', '{pack,rush,slow}', 2) c \gset
select ok((:'p1'::jsonb #>> '{pack,1,full_at}') is not null, 'the first full batch is a whole scan');
select ok((:'p1'::jsonb #>> '{slow,2,full_at}') is null, 'a level the limit kept from being looked at is not scanned');
select ok((:'p1'::jsonb #>> '{rush,0,full_at}') is not null, 'a level found empty is');
select c.positions as p2 from bpm.claim_tasks_at('w', '{pack}', 2, p_positions => :'p1') c \gset
select ok((:'p2'::jsonb #>> '{pack,1,reached_id}') > (:'p1'::jsonb #>> '{pack,1,reached_id}') or (:'p2'::jsonb #>> '{pack,1,reached_at}') > (:'p1'::jsonb #>> '{pack,1,reached_at}'),
          'the next one goes on behind it');

-- Garbage
select is(kit.raised($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => '"x"')$$) ->> 'code', 'BP400', 'a text');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => '7')$$, 'BP400', null, 'a number');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => '[]')$$, 'BP400', null, 'an array');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => '{"pack": 5}')$$, 'BP400', null, 'a type with a number');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => '{"pack": []}')$$, 'BP400', null, 'a type with an array');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => '{"pack": {"1": 7}}')$$, 'BP400', null, 'a level with a number');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => '{"pack": {"1": []}}')$$, 'BP400', null, 'a level with an array');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => '{"pack": {"1": {"reached": 1}}}')$$, 'BP400', null, 'an unknown field');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => '{"pack": {"1": {"reached_at": "soon"}}}')$$, 'BP400', null, 'a time that is none');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => '{"pack": {"1": {"reached_id": "1"}}}')$$, 'BP400', null, 'an id that is none');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => (select jsonb_build_object('pack', t.positions) from bpm.tick() t))$$, 'BP400', null, 'positions of a tick');
select lives_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => 'null')$$, 'JSON null is none');
select lives_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_positions => '{}')$$, 'an empty object is none');

-- The same arguments as claim_tasks
select throws_ok($$select * from bpm.claim_tasks_at('', '{pack}')$$, 'BP422', null, 'no worker');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack,pack}')$$, 'BP422', null, 'a type named twice');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{bpm:user}')$$, 'BP422', null, 'tasks for people');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', 0)$$, 'BP422', null, 'limit 0');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', 1001)$$, 'BP422', null, 'limit 1001');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', 1, interval '25 hours')$$, 'BP422', null, 'a lease over a day');
select throws_ok($$select * from bpm.claim_tasks_at('w', '{pack}', p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
