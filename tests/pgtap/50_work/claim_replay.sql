-- A claim whose reply was lost: the same worker and request id get the same tasks again, as long as they are theirs.
begin;
select plan(27);
select bpm.deploy_bpmn(test.linear('small', 'pack')) is not null as deployed \gset
select count(test.start('small', jsonb_build_object('n', n))) as started from generate_series(1, 6) n \gset
create function pg_temp.claim(p_worker text, p_request text, p_limit integer default 2) returns text language sql as $$
  select string_agg(c.variables ->> 'n' || '/' || c.fencing_token || '/' || c.attempt, ' ' order by c.variables ->> 'n')
    from bpm.claim_tasks(p_worker, '{pack}', p_limit, '1 minute', p_request) c
$$;
select is(pg_temp.claim('w1', 'r1'), '1/1/1 2/1/1', 'a claim');
select is(pg_temp.claim('w1', 'r1'), '1/1/1 2/1/1', 'the same request gets the same tasks, under the same tokens and attempts');
select is((select count(*) from bpm.task t where t.state = 'Executing'), 2::bigint, 'and nothing else is claimed');
select is(pg_temp.claim('w2', 'r1'), '3/1/1 4/1/1', 'another worker''s request of that name is another');
select is(pg_temp.claim('w1', 'r2'), '5/1/1 6/1/1', 'so is another request of the same worker');
select is(pg_temp.claim('w1', 'r3'), null, 'nothing is left');
select is((select count(*) from bpm_core.idempotency_key k where k.operation = 'claim_tasks'), 3::bigint, 'an empty claim is not kept');
select is(kit.raised($$select from bpm.claim_tasks('w1', '{pack}', 3, '1 minute', 'r1')$$) ->> 'code', 'BP409', 'with another limit it is another claim');
select is(kit.raised($$select from bpm.claim_tasks('w1', '{pack,other}', 2, '1 minute', 'r1')$$) ->> 'code', 'BP409', 'or other types');
select is((select c.variables -> 'n' from bpm.claim_tasks('w1', '{pack}', 2, '1 minute', 'r1') c order by 1 limit 1), '1', 'whatever was refused changed nothing');

-- What was answered meanwhile is not handed out again
select from (select t.task_id, t.fencing_token from bpm.claim_tasks('w1', '{pack}', 2, '1 minute', 'r1') t where t.variables -> 'n' = '1') t
  cross join lateral bpm.complete_task(t.task_id, t.fencing_token);
select is(pg_temp.claim('w1', 'r1'), '2/1/1', 'what is done is done');
select from (select t.task_id, t.fencing_token from bpm.claim_tasks('w1', '{pack}', 2, '1 minute', 'r1') t) t
  cross join lateral bpm.release_tasks(jsonb_build_array(jsonb_build_object('task_id', t.task_id, 'fencing_token', t.fencing_token)));
select is((select count(*) from bpm.claim_tasks('w1', '{pack}', 2, '1 minute', 'r1')), 0::bigint, 'what was given back is not theirs');
select is(pg_temp.claim('w3', 'x', 1), '2/2/2', 'but somebody else''s');
select is((select count(*) from bpm.claim_tasks('w1', '{pack}', 2, '1 minute', 'r1')), 0::bigint, 'and stays so');

-- With positions
select count(test.start('small', jsonb_build_object('n', n))) as started from generate_series(7, 8) n \gset
select c.tasks, c.positions from bpm.claim_tasks_at('w4', '{pack}', 10, null, 'r1') c \gset a_
select is(jsonb_array_length(:'a_tasks'), 2, 'a claim with positions');
select c.tasks, c.positions from bpm.claim_tasks_at('w4', '{pack}', 10, null, 'r1', null) c \gset b_
select is(:'b_tasks'::jsonb, :'a_tasks'::jsonb, 'again: the same to the letter');
select is(:'b_positions'::jsonb, '{}'::jsonb, 'the positions as they came: none');
select is((select c.positions from bpm.claim_tasks_at('w4', '{pack}', 10, null, 'r1', :'a_positions') c), :'a_positions'::jsonb, 'or those that came');
select is((select c.tasks from bpm.claim_tasks_at('w4', '{pack}', 10, null, 'r2', :'b_positions') c), '[]'::jsonb, 'which can be claimed with');
select is(kit.raised($$select from bpm.claim_tasks_at('w4', '{pack}', 10, null, 'r1', '[]')$$) ->> 'code', 'BP400', 'positions that are none');

-- The lease ends it
select from bpm.advance_clock('61 seconds');
select from bpm.run_until_idle();
select from bpm.advance_clock('30 seconds');
select is(pg_temp.claim('w2', 'r1', 2) ~ '^\d/\d/\d \d/\d/\d$', true, 'after the lease the request is a new claim');
select is(pg_temp.claim('w2', 'r1', 2) ~ '^\d/\d/\d \d/\d/\d$', true, 'which can be repeated again');
select is((select count(*) from bpm_core.idempotency_key k where k.operation = 'claim_tasks' and k.expires_at > bpm_core.now()), 1::bigint, 'kept no longer than the lease');
select from bpm.maintain_keys();
select is((select count(*) from bpm_core.idempotency_key k where k.operation = 'claim_tasks'), 1::bigint, 'the others are forgotten by maintenance');
select is((select count(*) from bpm.claim_tasks('w5', '{pack}', 1)), 1::bigint, 'without a request id');
select is((select count(*) from bpm_core.idempotency_key k where k.operation = 'claim_tasks'), 1::bigint, 'nothing is kept');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
