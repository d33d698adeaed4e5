-- Claims that follow closely upon another one: they go on from its mark, and look for themselves whenever anything is not as it was.
begin;
select plan(35);
select test.deploy('quick', '<parallelGateway id="fork"/>' || test.service('a') || test.service('b') || '<endEvent id="e1"/><endEvent id="e2"/>'
  || test.flows('start>fork', 'fork>a', 'fork>b', 'a>e1', 'b>e2')) \gset
select from bpm.start_processes((select jsonb_agg(jsonb_build_object('code', 'quick', 'business_key', 'k' || n) order by n) from generate_series(1, 9) n));
-- The clock stands still but for what we move it.
select set_config('quick.now', bpm_core.now()::text, true) \g /dev/null
create or replace function bpm_core.now() returns timestamptz language sql volatile as $$ select current_setting('quick.now')::timestamptz $$;
create function pg_temp.later(p_by interval) returns text language sql as $$ select set_config('quick.now', (bpm_core.now() + p_by)::text, true) $$;
select pg_temp.later('1 minute') \g /dev/null
create function pg_temp.claim(p_positions jsonb, p_limit integer default 1, p_types text[] default '{a,b}', out keys text, out positions jsonb) language plpgsql as $$
begin
  select (select string_agg(t ->> 'task_type' || (t ->> 'business_key'), ' ' order by n) from jsonb_array_elements(c.tasks) with ordinality x(t, n)), c.positions
    into keys, positions from bpm.claim_tasks_at('w', p_types, p_limit, p_positions => p_positions) c;
end $$;

select c.keys, c.positions as p1 from pg_temp.claim(null) c \gset
select is(:'keys'::text, 'ak1', 'the first claim looks for itself');
select is(:'p1'::jsonb -> '' ?& '{until,level}', true, 'and leaves a mark for those that follow');
select c.keys, c.positions as p2 from pg_temp.claim(:'p1', 2) c \gset
select is(:'keys'::text, 'ak2 ak3', 'which go on behind what it took');
select is(:'p2'::jsonb -> '', :'p1'::jsonb -> '', 'by the same mark');
select is(jsonb_build_array((:'p2'::jsonb #> '{a,1}') - '{reached_at,reached_id}'::text[], :'p2'::jsonb -> 'b'),
          jsonb_build_array((:'p1'::jsonb #> '{a,1}') - '{reached_at,reached_id}'::text[], :'p1'::jsonb -> 'b'), 'the position changes only in what was reached');
select is((select p.business_key from bpm_core.task_instance t join bpm_core.workflow_instance w on w.id = t.workflow_instance_id join bpm_core.process_instance p on p.id = w.process_instance_id
            where t.id::text = :'p2'::jsonb #>> '{a,1,reached_id}'), 'k3', 'which is what was handed out last');

-- A straggler: older than what was reached
update bpm_core.task_instance set available_at = available_at - interval '10 seconds' where task_type = 'a' and workflow_instance_id = (
  select w.id from bpm_core.workflow_instance w join bpm_core.process_instance p on p.id = w.process_instance_id where p.business_key = 'k9');
select is((select c.keys from pg_temp.claim(:'p2') c), 'ak4', 'a straggler waits while there is a mark');
select pg_temp.later('501 milliseconds') \g /dev/null
select c.keys, c.positions as p3 from pg_temp.claim(:'p2') c \gset
select is(:'keys'::text, 'ak9', 'for half a second');
select is((:'p3'::jsonb ? '')::text, 'false', 'while there may be more of them there is no mark');
select c.keys, c.positions as p3 from pg_temp.claim(:'p3') c \gset
select is(:'keys'::text || (:'p3'::jsonb ? ''), 'ak5true', 'then there is one again');
select c.keys, c.positions as p4 from pg_temp.claim(:'p3', 100) c \gset
select is(:'keys'::text, 'ak6 ak7 ak8 bk1 bk2 bk3 bk4 bk5 bk6 bk7 bk8 bk9', 'a claim that does not fill its limit');
select is((:'p4'::jsonb ? '')::text, 'false', 'takes the mark away');
select bpm.release_tasks((select jsonb_agg(jsonb_build_object('task_id', t.id, 'fencing_token', t.fencing_token)) from bpm_core.task_instance t where t.state = 'Executing')) \g /dev/null
select is((select c.keys from pg_temp.claim(:'p3') c), 'ak1', 'what is not found behind the mark is looked for at once');
select isnt((select count(*) from pg_temp.claim(:'p3', 100) c where c.keys like '%bk9'), 0::bigint, 'all of it');
select bpm.release_tasks((select jsonb_agg(jsonb_build_object('task_id', t.id, 'fencing_token', t.fencing_token)) from bpm_core.task_instance t where t.state = 'Executing')) \g /dev/null
select pg_temp.later('1 minute') \g /dev/null

-- Marks that do not fit
select c.keys, c.positions as p5 from pg_temp.claim(null, 3) c \gset
select pg_temp.later('10 milliseconds') \g /dev/null
select c.keys, c.positions as p6 from pg_temp.claim(:'p5', 1, '{b,a}') c \gset
select is(:'keys'::text, 'bk1', 'types in another order are looked for in theirs');
select is(:'p6'::jsonb -> '', :'p5'::jsonb -> '', 'and go on from the mark, too');
select is((select c.positions -> '' from pg_temp.claim(:'p5', 1, '{b}') c), :'p5'::jsonb -> '', 'so do fewer types');
select isnt((select c.positions -> '' from pg_temp.claim(:'p5', 1, '{a,b,c}') c), :'p5'::jsonb -> '', 'not others');
create function pg_temp.forged(p_positions jsonb, p_change jsonb) returns jsonb language sql as $$ select jsonb_set(p_positions, '{""}', p_positions -> '' || p_change) $$;
select is((select count(*) from (values ('{"until": "soon"}'), ('{"until": null}'), ('{"until": "2999-01-01Z"}'), ('{"level": 100000}'), ('{"level": "x"}'), ('{"level": null}'), ('{"level": 2}')) v(change)
           cross join lateral pg_temp.claim(pg_temp.forged(:'p5', v.change::jsonb)) c where c.keys ~ '^[ab]k[0-9]$'), 7::bigint, 'one that is not ours is none: the claim looks for itself');
select throws_ok(format('select bpm.claim_tasks_at(''w'', ''{bpm:user}'', 1, p_positions => %L)', jsonb_set(:'p5', '{bpm:user}', '{"1": {"reached_at": "-infinity", "reached_id": "00000000-0000-0000-0000-000000000000"}}')), 'BP422', null,
  'a mark does not open what types are closed');
select throws_ok(format('select bpm.claim_tasks_at(''w'', ''{a,b}'', 1, p_positions => %L)', jsonb_set(:'p5', '{""}', '[]')), 'BP400', null, 'one of another form');
select throws_ok(format('select bpm.claim_tasks_at(''w'', ''{a,b}'', 1, p_positions => %L)', jsonb_set(:'p5', x.path, x.value)), 'BP400', null, 'nor does it let pass positions that are not ours: ' || x.value::text)
  from (values ('{a,1,reached_at}'::text[], '"soon"'::jsonb), ('{b,1,reached_id}', '"x"'), ('{b,1}', '"x"')) x(path, value);

-- What changed meanwhile
select bpm.release_tasks((select jsonb_agg(jsonb_build_object('task_id', t.id, 'fencing_token', t.fencing_token)) from bpm_core.task_instance t where t.state = 'Executing')) \g /dev/null
select pg_temp.later('1 minute') \g /dev/null
select c.keys, c.positions as p7 from pg_temp.claim(null) c \gset
select bpm.set_task_quota('a', 1) \g /dev/null
select matches((select c.keys from pg_temp.claim(:'p7', 2) c), '^ak2 bk[0-9]$', 'a quota binds from the next claim on');
select is((select (c.positions ? '')::text from pg_temp.claim(:'p7', 2) c), 'false', 'and there are no marks while there is one');
select bpm.set_task_quota('a', null) \g /dev/null
select bpm.suspend_process((select p.id from bpm_core.process_instance p where p.business_key = 'k3'), 'looking') \g /dev/null
select c.keys, c.positions as p7 from pg_temp.claim(:'p7') c \gset
select is(:'keys'::text, 'ak4', 'what is held is not there');
-- A suspension that has not come to its tasks yet
update bpm_core.workflow_instance w set status = 'Suspended' from bpm_core.process_instance p where p.id = w.process_instance_id and p.business_key = 'k5';
select coalesce(c.keys, 'nothing') as keys, c.positions as p8 from pg_temp.claim(:'p7') c \gset
select is(:'keys'::text, 'nothing', 'a task of an instance that is being suspended is put back');
update bpm_core.workflow_instance w set status = 'Running' from bpm_core.process_instance p where p.id = w.process_instance_id and p.business_key = 'k5';
select c.tasks as t1 from bpm.claim_tasks_at('w', '{a,b}', 1, p_positions => :'p8', p_request_id => 'r1') c \gset
select c.tasks as t2, c.positions as p9 from bpm.claim_tasks_at('w', '{a,b}', 1, p_positions => :'p8', p_request_id => 'r1') c \gset
select is(:'t1'::jsonb, :'t2'::jsonb, 'a claim given again is the same');
select is(:'p9'::jsonb, :'p8'::jsonb, 'and leaves the positions as they came');

-- More stragglers than one claim takes, and more to do ahead
select bpm.release_tasks((select jsonb_agg(jsonb_build_object('task_id', t.id, 'fencing_token', t.fencing_token)) from bpm_core.task_instance t where t.state = 'Executing')) \g /dev/null
select pg_temp.later('1 minute') \g /dev/null
select c.keys, c.positions as p10 from pg_temp.claim(null) c \gset
create temp table late as select t.id, p.business_key as key
  from bpm_core.task_instance t join bpm_core.workflow_instance w on w.id = t.workflow_instance_id join bpm_core.process_instance p on p.id = w.process_instance_id
 where t.task_type = 'a' and t.state = 'Ready' order by t.available_at desc, t.id desc limit 3;
update bpm_core.task_instance t set available_at = (:'p10'::jsonb #>> '{a,1,reached_at}')::timestamptz - interval '10 seconds' from late l where t.id = l.id;
select pg_temp.later('501 milliseconds') \g /dev/null
select c.keys as first, c.positions as p10 from pg_temp.claim(:'p10') c \gset
select c.keys as second, c.positions as p10 from pg_temp.claim(:'p10') c \gset
select c.keys as third, c.positions as p10 from pg_temp.claim(:'p10') c \gset
select is(concat_ws(' ', :'first', :'second', :'third'), (select string_agg('a' || l.key, ' ' order by l.id) from late l), 'they come one after the other, at once');
select is((:'p10'::jsonb ? '')::text, 'false', 'without a mark');
select c.keys, c.positions as p10 from pg_temp.claim(:'p10') c \gset
select is((:'keys' <> '')::text || (:'p10'::jsonb ? ''), 'truetrue', 'what lies ahead has one');

-- Levels
select test.deploy('low', test.service('a', 'bpm:priority="10"') || '<endEvent id="end"/>' || test.flows('start>a', 'a>end')) \gset
select pg_temp.later('1 second') \g /dev/null
select is((select (c.positions ? '')::text from pg_temp.claim(:'p8') c), 'false', 'types with several priority levels have no mark');
select is(test.broken(), '{}', 'nothing is broken');
select * from finish();
rollback;
