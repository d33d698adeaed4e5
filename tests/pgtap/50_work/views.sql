-- bpm.task, execution, dead_letter: attempts running and ended, in one place.
begin;
select plan(11);

select bpm.deploy_bpmn(test.linear('line', 'a', 'b'));
select test.start('line', '{"v": 1}', 'K') as p \gset
select results_eq('select process_instance_id, business_key, node_id, task_type, state, attempt, max_attempts, fencing_token from bpm.task',
  format('values (%L::uuid, ''K'' collate "C", ''a'' collate "C", ''a'' collate "C", ''Ready'', 0, 3, 0::bigint)', :'p'), 'task: an offer');
select is_empty('table bpm.execution', 'no attempt yet');
select t.task_id, t.fencing_token from bpm.claim_tasks('w1', '{a}') t \gset
select results_eq('select state, worker_id, lease_until > claimed_at from bpm.task', $$values ('Executing', 'w1', true)$$, 'in hand');
select results_eq('select task_id, attempt, node_id, state, worker_id, fencing_token, ended_at from bpm.execution',
  format('values (%L::uuid, 1, ''a'' collate "C", ''Running'', ''w1'', 1::bigint, null::timestamptz)', :'task_id'), 'execution: the running attempt');
select bpm.fail_task(:'task_id', :'fencing_token', '{"message": "no"}', true, interval '0');
select results_eq('select attempt, state, outcome::text, error from bpm.execution', $$values (1, 'Failed', 'Retrying', '{"message": "no"}'::jsonb)$$, 'ended');
select test.complete_next('a');
select results_eq('select attempt, state, outcome::text from bpm.execution order by attempt', $$values (1, 'Failed', 'Retrying'), (2, 'Succeeded', 'Completed')$$,
  'one row per attempt');
select is((select count(*) from bpm.execution e where e.state = 'Running'), 0::bigint, 'none running');
select is_empty('table bpm.dead_letter', 'no dead letter');
select test.fail_next('b', false, '"dead"');
select results_eq('select process_instance_id, business_key, kind, error, variables, state from bpm.dead_letter',
  format('values (%L::uuid, ''K'' collate "C", ''Task'', ''"dead"''::jsonb, ''{"v": 1}''::jsonb, ''Open'')', :'p'), 'dead_letter: with what it needs to be understood');
select bpm.discard_dead_letter((select d.dead_letter_id from bpm.dead_letter d), 'hopeless', 'ann');
select results_eq('select state, closed_by from bpm.dead_letter', $$values ('Discarded', 'ann')$$, 'and who closed it');
select is((select count(*) from bpm.task t where t.state = 'Failed'), 1::bigint, 'the failed task shows');

select * from finish();
rollback;
