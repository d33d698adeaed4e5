-- bpm.fail_tasks: attempts that failed; retried after a backoff, or buried.
begin;
select plan(55);
select test.deploy('job', test.service('work') || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset
select test.deploy('once', test.service('try', 'bpm:retries="1"') || '<endEvent id="end"/>' || test.flows('start>try', 'try>end')) \gset

-- Two attempts fail, the third succeeds (A-03)
select test.start('job', '{"a": 1}') as a \gset
select c.tasks from bpm.claim_tasks_at('w1', '{work}') c \gset t1_
select bpm_core.now() as before \gset
select f.* from bpm.fail_tasks(test.items(:'t1_tasks', '{"error": {"message": "no paper", "code": 7}}')) f \gset f_
select is(:'f_item' || :'f_task_id' || :'f_outcome', '1' || (:'t1_tasks'::jsonb #>> '{0,task_id}') || 'Retrying', 'with attempts left it is retried');
select ok(:'f_next_attempt_at'::timestamptz between :'before'::timestamptz + interval '1 second' and bpm_core.now() + interval '1.1 seconds', 'after the backoff, a second and up to a tenth of it');
select is((select t.state || ' ' || t.attempt || ' ' || (t.worker_id is null) || (t.lease_until is null) from bpm.task t where t.task_id = :'f_task_id'), 'Ready 1 truetrue', 'the task is ready, and nobody''s');
select is((select t.available_at from bpm.task t where t.task_id = :'f_task_id'), :'f_next_attempt_at'::timestamptz, 'from the time told');
select is((select concat_ws(' ', e.attempt, e.state, e.outcome, e.worker_id, e.fencing_token, e.error) from bpm.execution e where e.task_id = :'f_task_id'),
          '1 Failed Retrying w1 1 {"code": 7, "message": "no paper"}', 'the attempt is kept with its error');
select is((select h.actor || ' ' || (h.detail - 'task') from bpm.get_history(:'a') h where h.kind = 'TaskRetried'),
          'w1 {"error": {"code": 7, "message": "no paper"}, "attempt": 1, "expired": false}', 'and in history');
select is(test.standing(:'a'), '{"work Waiting"}', 'the token stays');
select is(test.incidents(:'a'), '{}', 'no incident yet');
select is((select count(*) from bpm.claim_tasks('w1', '{work}')), 0::bigint, 'not handed out before its time');
select bpm.advance_clock(interval '2 seconds') is not null as moved \gset
select c.tasks from bpm.claim_tasks_at('w2', '{work}') c \gset t2_
select is((:'t2_tasks'::jsonb #>> '{0,attempt}') || (:'t2_tasks'::jsonb #>> '{0,fencing_token}'), '22', 'then it is, as the second attempt');
select bpm_core.now() as before \gset
select f.* from bpm.fail_tasks(test.items(:'t2_tasks', '{"error": "again"}')) f \gset g_
select ok(:'g_next_attempt_at'::timestamptz between :'before'::timestamptz + interval '2 seconds' and bpm_core.now() + interval '2.2 seconds', 'the backoff grows');

-- Repeats get the first answer, also when others have tried since
select is((select f.outcome || coalesce(f.next_attempt_at::text, '') from bpm.fail_tasks(test.items(:'t2_tasks', '{"error": "again"}')) f),
          'Retrying' || :'g_next_attempt_at', 'an unchanged repeat gets the first answer');
select is((select f.outcome::text from bpm.fail_tasks(test.items(:'t1_tasks', '{"error": {"code": 7, "message": "no paper"}}')) f), 'Retrying', 'that of an earlier attempt too');
select is((select f.outcome::text from bpm.fail_tasks(test.items(:'t1_tasks', '{"error": "something else"}')) f), 'Conflict', 'another error is a conflict');
select is((select array_agg(x order by x) from unnest(test.history(:'a', 'Task%')) x), '{"TaskRetried 2"}', 'and none of it is written again');
select bpm.advance_clock(interval '3 seconds') is not null as moved \gset
select test.complete_next('work', '{"b": 2}') is not null as done \gset
select is(test.status(:'a'), 'Completed', 'the third attempt succeeds');
select is((select array_agg(e.attempt || e.state order by e.attempt) from bpm.execution e where e.task_id = :'f_task_id'), '{1Failed,2Failed,3Succeeded}', 'attempts 1, 2, 3');
select is((select f.outcome::text from bpm.fail_tasks(jsonb_build_array(jsonb_build_object('task_id', :'f_task_id', 'fencing_token', 3))) f), 'Conflict', 'an attempt that succeeded did not fail');

-- Attempts exhausted (A-04)
select test.start('job', '{"order": 9}') as b \gset
select test.fail_next('work') as one \gset
select test.fail_next('work') as two \gset
select c.tasks from bpm.claim_tasks_at('w1', '{work}') c \gset t3_
select f.outcome, f.next_attempt_at is null as never from bpm.fail_tasks(test.items(:'t3_tasks', '{"error": {"message": "no ink"}}')) f \gset x_
select is(:'x_outcome' || :'x_never', 'Failedt', 'after the last attempt: failed, with no next');
select is((select t.state || t.attempt from bpm.task t where t.process_instance_id = :'b'), 'Failed3', 'the task is Failed');
select is(test.standing(:'b'), '{"work Failed"}', 'so is the token, which is still live');
select is(test.status(:'b'), 'Running', 'the instance stays Running');
select is(test.incidents(:'b'), '{"AttemptsExhausted work"}', 'one incident');
select ok((select i.message ~ 'no ink' and i.detail @> '{"attempt": 3, "task_type": "work", "error": {"message": "no ink"}}' from bpm.incident i where i.process_instance_id = :'b'), 'that says what went wrong');
select is((select concat_ws(' ', d.kind, d.state, d.error, d.variables) from bpm.dead_letter d where d.process_instance_id = :'b'),
          'Task Open {"message": "no ink"} {"order": 9}', 'one dead letter, with error and variables');
select is((select d.incident_id from bpm.dead_letter d where d.process_instance_id = :'b'), (select i.incident_id from bpm.incident i where i.process_instance_id = :'b'), 'of that incident');
select is((select f.outcome::text from bpm.fail_tasks(test.items(:'t3_tasks', '{"error": {"message": "no ink"}}')) f), 'Failed', 'an unchanged repeat gets the first answer');
select is((select count(*) from bpm.dead_letter), 1::bigint, 'and buries nothing twice');
select is((select count(*) from bpm.claim_tasks('w', '{work}', 10)), 0::bigint, 'it is not handed out any more');

-- Not worth a retry; a time of one's own
select test.start('job') as c \gset
select c.tasks from bpm.claim_tasks_at('w1', '{work}') c \gset t4_
select is((select f.outcome::text from bpm.fail_tasks(test.items(:'t4_tasks', '{"retryable": false}')) f), 'Failed', 'not retryable: failed in the first attempt');
select is((select d.error from bpm.dead_letter d where d.process_instance_id = :'c'), '"no reason given"'::jsonb, 'without an error that is what is kept');
select test.start('job') as d \gset
select c.tasks from bpm.claim_tasks_at('w1', '{work}') c \gset t5_
select bpm_core.now() as before \gset
select f.* from bpm.fail_tasks(test.items(:'t5_tasks', '{"retry_in_seconds": 90.5}')) f \gset r_
select ok(:'r_next_attempt_at'::timestamptz between :'before'::timestamptz + interval '90.5 seconds' and bpm_core.now() + interval '90.5 seconds', 'a time of one''s own, to the part of a second');
select test.start('once') as once \gset
select is((select f.outcome::text from bpm.claim_tasks_at('w1', '{try}') c cross join lateral bpm.fail_tasks(test.items(c.tasks, '{"retryable": true, "retry_in_seconds": 5}')) f), 'Failed', 'no attempt left: failed, whatever was asked');

-- The backoff is capped
select is((select array_agg(bpm_core.retry_delay(v, n.attempt) between n.lowest and n.lowest * 1.1 order by n.attempt)
             from bpm_core.task_version v
            cross join (values (1, interval '1 second'), (2, '2 seconds'), (5, '16 seconds'), (9, '256 seconds'), (10, '5 minutes'), (60, '5 minutes')) n(attempt, lowest)
            where v.task_type = 'work'), '{t,t,t,t,t,t}', 'it doubles up to 5 minutes, lengthened by a tenth at most');
select is((select bool_and(bpm_core.retry_delay(v, 1000) between v.backoff_cap and v.backoff_cap * 1.1) from bpm_core.task_version v), true, 'the thousandth attempt is no overflow');

-- Who has lost
select test.start('job') as l1, test.start('job') as l2, test.start('job') as l3 \gset
select c.tasks from bpm.claim_tasks_at('w1', '{work}', 3, interval '1 minute') c \gset l_
select bpm.cancel_process(:'l2') is not null as cancelled \gset
select bpm.release_tasks(test.items(jsonb_path_query_array(:'l_tasks', '$[2]'))) is not null as released \gset
select is((select array_agg(f.outcome::text order by f.item) from bpm.fail_tasks((select jsonb_agg(jsonb_set(i, '{fencing_token}', '9')) from jsonb_array_elements(test.items(:'l_tasks')) i)) f),
          '{LeaseLost,Cancelled,LeaseLost}', 'another fence');
select bpm.advance_clock(interval '61 seconds') is not null as moved \gset
select is((select array_agg(f.outcome::text order by f.item) from bpm.fail_tasks(test.items(:'l_tasks')) f), '{LeaseLost,Cancelled,LeaseLost}', 'ran out; cancelled; released');
select test.tick('leases') as reaped \gset
select is((select array_agg(f.outcome::text || coalesce(f.next_attempt_at::text, '') order by f.item) from bpm.fail_tasks(jsonb_build_array(test.items(:'l_tasks') -> 0)) f), '{LeaseLost}', 'and reaped');
select is((select array_agg(f.outcome::text) from bpm.fail_tasks('[{"task_id": "00000000-0000-7000-8000-000000000001", "fencing_token": 1}]') f), '{NotFound}', 'a task that is not there');

-- One task twice in one call, under the old fence and the right one
select bpm.advance_clock(interval '1 minute') is not null as moved \gset
select c.tasks from bpm.claim_tasks_at('w2', '{work}', 10) c \gset n_
select is((select array_agg(f.outcome::text || (f.next_attempt_at is not null) order by f.item) from bpm.fail_tasks((
             select jsonb_agg(i order by (i ->> 'fencing_token')::bigint)
               from jsonb_array_elements(test.items(:'l_tasks') || test.items(:'n_tasks')) i
              where i ->> 'task_id' = :'l_tasks'::jsonb #>> '{0,task_id}')) f), '{LeaseLostfalse,Retryingtrue}', 'each item is answered for its own fence');
select is((select array_agg(f.outcome::text order by f.item) from bpm.fail_tasks((
             select jsonb_agg(i.item || v.error order by v.n) from jsonb_array_elements(test.items(:'n_tasks')) i(item)
              cross join (values (1, '{"error": "a"}'::jsonb), (2, '{"error": "b"}'), (3, '{"error": "a"}')) v(n, error)
              where i.item ->> 'task_id' = :'l_tasks'::jsonb #>> '{2,task_id}')) f), '{Retrying,Conflict,Retrying}', 'the first error stands, another is a conflict, a repeat is none');

-- A batch, and ill-formed calls
select count(test.start('job')) as started from generate_series(1, 50) \gset
select c.tasks from bpm.claim_tasks_at('w1', '{work}', 1000) c \gset m_
select is((select count(*) filter (where f.outcome = 'Failed') || ' ' || count(*) filter (where f.outcome = 'Retrying')
             from bpm.fail_tasks((select jsonb_agg(i.item || jsonb_build_object('retryable', i.n % 2 = 0)) from jsonb_array_elements(test.items(:'m_tasks')) with ordinality i(item, n))) f),
          format('%s %s', (jsonb_array_length(:'m_tasks') + 1) / 2, jsonb_array_length(:'m_tasks') / 2), 'a batch of both kinds');
select test.start('job') as bad \gset
select c.task_id as bad_task from bpm.claim_tasks('w1', '{work}') c \gset
select format('select * from bpm.fail_tasks(''[{"task_id": "%s", "fencing_token": 1, %%s}]'')', :'bad_task') as call \gset
select throws_ok(format(:'call', '"retryable": "yes"'), 'BP400', null, 'retryable that is no boolean');
select throws_ok(format(:'call', '"retry_in_seconds": -1'), 'BP400', null, 'a time before now');
select throws_ok(format(:'call', '"retry_in_seconds": 31536001'), 'BP400', null, 'a time over a year');
select throws_ok(format(:'call', '"retry_in_seconds": "5"'), 'BP400', null, 'a time that is text');
select is((bpm_core.parse_failures('[{"task_id": "00000000-0000-0000-0000-000000000000", "fencing_token": 1, "retry_in_seconds": 1e-400}]'))[1].retry_in,
  interval '0', 'a time too short for a double is none');
select throws_ok(format(:'call', format('"error": "%s"', (select string_agg(md5(n::text), '') from generate_series(1, 3000) n))), 'BP400', null, 'an error over 64 kB');
select throws_ok(format(:'call', '"variables": {}'), 'BP400', null, 'an unknown key');
select throws_ok($$select * from bpm.fail_tasks('5')$$, 'BP400', null, 'no array');
select throws_ok($$select * from bpm.fail_tasks((select jsonb_agg('{"task_id": "00000000-0000-7000-8000-000000000001", "fencing_token": 1}'::jsonb) from generate_series(1, 1001)))$$, 'BP429', null, '1001 items');
select throws_ok($$select * from bpm.fail_tasks('[]', 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select is((select t.state from bpm.task t where t.task_id = :'bad_task'), 'Executing', 'nothing was changed by them');
select lives_ok(format(:'call', '"retryable": null, "retry_in_seconds": null, "error": null'), 'nulls are left out');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
