-- bpm.release_tasks: leases given back unworked.
begin;
select plan(22);
select test.deploy('job', test.service('work', 'bpm:retries="2"') || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset

select test.start('job') as a \gset
select c.tasks from bpm.claim_tasks_at('w', '{work}') c \gset one_
select r.* from bpm.release_tasks(test.items(:'one_tasks')) r \gset r_
select is(:'r_item' || :'r_task_id' || :'r_outcome', '1' || (:'one_tasks'::jsonb #>> '{0,task_id}') || 'Released', 'released');
select is((select concat_ws(' ', t.state, t.worker_id, t.lease_until, t.available_at <= bpm_core.now()) from bpm.task t where t.task_id = :'r_task_id'), 'Ready t', 'ready again at once, and nobody''s');
select is((select concat_ws(' ', e.attempt, e.state, e.outcome) from bpm.execution e where e.task_id = :'r_task_id'), '1 Released Released', 'the attempt ended as released');
select is(test.history(:'a'), '{"InstanceStarted 1"}', 'no history is written');
select is((select array_agg(r.outcome::text) from bpm.release_tasks(test.items(:'one_tasks')) r), '{Released}', 'a repeat gets the first answer');
select is((select count(*) from bpm.execution e where e.task_id = :'r_task_id'), 1::bigint, 'and ends nothing twice');

-- The attempt does not count
select test.fail_next('work') as f1 \gset
select is((select t.state from bpm.task t where t.task_id = :'r_task_id'), 'Ready', 'released once, failed once of two: one more attempt');
select is((select c.attempt || ' ' || c.fencing_token from bpm.claim_tasks('w', '{work}') c), '3 3', 'numbers go on growing');
select is((select array_agg(r.outcome::text) from bpm.release_tasks(jsonb_build_array(jsonb_build_object('task_id', :'r_task_id', 'fencing_token', 3))) r), '{Released}', 'released again');
select test.fail_next('work') as f2 \gset
select is((select t.state from bpm.task t where t.task_id = :'r_task_id'), 'Failed', 'failed twice of two: failed for good');
select is((select array_agg(e.attempt || e.state order by e.attempt) from bpm.execution e where e.task_id = :'r_task_id'), '{1Released,2Failed,3Released,4Failed}', 'all four attempts are kept');
select is((select array_agg(r.outcome::text) from bpm.release_tasks(jsonb_build_array(jsonb_build_object('task_id', :'r_task_id', 'fencing_token', 4), jsonb_build_object('task_id', :'r_task_id', 'fencing_token', 1))) r),
          '{LeaseLost,Released}', 'one that failed was not released; an earlier release still was');

-- Who has lost
select test.start('job') as b, test.start('job') as c, test.start('job') as d, test.start('job') as e \gset
select c.tasks from bpm.claim_tasks_at('w', '{work}', 4, interval '1 minute') c \gset l_
select bpm.cancel_process(:'c') is not null as cancelled \gset
select bpm.complete_tasks(jsonb_build_array(test.items(:'l_tasks') -> 2)) is not null as done \gset
select is((select array_agg(r.outcome::text order by r.item) from bpm.release_tasks(
             jsonb_build_array(jsonb_set(test.items(:'l_tasks') -> 0, '{fencing_token}', '7'), test.items(:'l_tasks') -> 1, test.items(:'l_tasks') -> 2,
                               '{"task_id": "00000000-0000-7000-8000-000000000001", "fencing_token": 1}'::jsonb)) r), '{LeaseLost,Cancelled,LeaseLost,NotFound}', 'another fence; cancelled; completed; not there');
select bpm.advance_clock(interval '2 minutes') is not null as moved \gset
select is((select array_agg(r.outcome::text order by r.item) from bpm.release_tasks(jsonb_build_array(test.items(:'l_tasks') -> 0, test.items(:'l_tasks') -> 3)) r), '{LeaseLost,LeaseLost}', 'a lease that ran out is no longer one''s own to give back');
select is(test.tick('leases'), 2, 'the reaper takes them');

-- A batch with one task twice
select bpm.advance_clock(interval '1 minute') is not null as moved \gset
select c.tasks from bpm.claim_tasks_at('w', '{work}', 2) c \gset m_
select is((select array_agg(r.outcome::text order by r.item) from bpm.release_tasks(test.items(:'m_tasks') || test.items(:'m_tasks')) r), '{Released,Released,Released,Released}', 'the same items twice in one call');
select is((select array_agg(t.max_attempts - t.attempt) from bpm.task t where t.state = 'Ready'), '{1,1}', 'release each once');

-- Ill-formed
select throws_ok($$select * from bpm.release_tasks('"x"')$$, 'BP400', null, 'no array');
select throws_ok($$select * from bpm.release_tasks('[{"task_id": "00000000-0000-7000-8000-000000000001"}]')$$, 'BP400', null, 'no fence');
select throws_ok($$select * from bpm.release_tasks((select jsonb_agg('{"task_id": "00000000-0000-7000-8000-000000000001", "fencing_token": 1}'::jsonb) from generate_series(1, 1001)))$$, 'BP429', null, '1001 items');
select throws_ok($$select * from bpm.release_tasks('[]', 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
