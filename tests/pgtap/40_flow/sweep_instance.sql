-- bpm_core.sweep_instance: a large instance is held and freed in chunks; what is not held yet is not handed out all the same.
begin;
select plan(21);
select bpm.set_setting('engine.sweep_batch_size', '2') is not null as set \gset
select test.deploy('wide', '<parallelGateway id="fork"/>' || string_agg(test.service('t' || n, 'bpm:retries="1"') || test.timer('late' || n, '<timeDuration>PT1H</timeDuration>', 't' || n)
    || format('<endEvent id="e%1$s"/><endEvent id="l%1$s"/>', n) || test.flows('fork>t' || n, 't' || n || '>e' || n, 'late' || n || '>l' || n), '')
  || test.flows('start>fork')) is not null as deployed from generate_series(1, 5) n \gset
create function pg_temp.held(p_process_instance_id uuid) returns text language sql as $$
  select (select count(*) from bpm.task t where t.process_instance_id = p_process_instance_id and t.state = 'Held') || ' '
      || (select count(*) from bpm.timer t where t.process_instance_id = p_process_instance_id and t.status = 'Held') || ' '
      || (select count(*) from bpm_core.inbox i where i.target_id = test.workflow(p_process_instance_id) and i.kind = 'Sweep') $$;
create function pg_temp.claim() returns bigint language sql as $$
  select count(*) from bpm.claim_tasks('w', '{t1,t2,t3,t4,t5}', 100) $$;

select test.start('wide') as a \gset
select bpm.suspend_process(:'a') is not null as suspended \gset
select is(pg_temp.held(:'a'), '2 0 1', 'the first chunk at once, a row of the inbox for the rest');
select is(test.broken(), '{}', 'invariants hold while it is half held');
select is(pg_temp.claim(), 0::bigint, 'no task is handed out, held or not');
select is((select count(*) from bpm.task t where t.process_instance_id = :'a' and t.state = 'Ready' and t.available_at > bpm_core.now()), 3::bigint, 'those not held yet are put back, a second later');
select is((select array_agg(distinct concat_ws(' ', e.state, e.outcome)) from bpm.execution e join bpm.task t on t.task_id = e.task_id where t.process_instance_id = :'a'), '{"Released Released"}', 'as attempts released');
select bpm.advance_clock('2 s') is not null as moved \gset
select c.tasks from bpm.claim_tasks_at('w', '{t1,t2,t3,t4,t5}', 100) c \gset
select is(:'tasks'::jsonb, '[]', 'a claim by position hands out none either');
select is(test.tick('inbox') || ' ' || pg_temp.held(:'a'), '1 4 0 1', 'tick holds the next chunk') ;
select bpm.run_until_idle() is not null as swept \gset
select is(pg_temp.held(:'a'), '5 5 0', 'until all are held');
select is((select array_agg(h.kind || ' ' || h.times order by h.kind) from (select h.kind, count(*) as times from bpm.get_history(:'a', 1000) h where h.kind in ('TaskHeld', 'TimerHeld') group by h.kind) h), '{"TaskHeld 5","TimerHeld 5"}', 'each with its row of history');
select is(test.broken(), '{}', 'invariants hold when it is held');
select bpm.resume_process(:'a') is not null as resumed \gset
select is(pg_temp.held(:'a'), '3 5 1', 'resuming frees a chunk at once');
select is(pg_temp.claim(), 2::bigint, 'which is handed out');
-- Turned round in the middle, by the row that was there already
select bpm.suspend_process(:'a') is not null as suspended \gset
select is(pg_temp.held(:'a'), '3 5 1', 'suspended again: nothing to hold but what is in hand');
select bpm.run_until_idle() is not null as swept \gset
select is(pg_temp.held(:'a'), '3 5 0', 'the sweep of the resume holds now');
select is(test.broken(), '{}', 'invariants hold when turned round');
select bpm.resume_process(:'a') is not null as resumed \gset
select bpm.run_until_idle() is not null as swept \gset
select is(pg_temp.held(:'a'), '0 0 0', 'all free');
select bpm.advance_clock('2 s') is not null as moved \gset
select is(pg_temp.claim(), 3::bigint, 'and handed out: with their one attempt, since putting back used up none');

-- Many answers, in their order, behind each other
select bpm.suspend_process(:'a') is not null as suspended \gset
select count(*) as completed from bpm.complete_tasks((
  select jsonb_agg(jsonb_build_object('task_id', t.task_id, 'fencing_token', t.fencing_token, 'variables', jsonb_build_object('last', t.node_id)) order by t.node_id desc)
    from bpm.task t where t.process_instance_id = :'a' and t.state = 'Executing')) \gset
select bpm.resume_process(:'a') is not null as resumed \gset
select is((select count(*) from bpm_core.inbox i where i.available_at = 'infinity'), 0::bigint, 'parked answers are freed');
select bpm.run_until_idle() is not null as applied \gset
select is(test.status(:'a') || (bpm.get_variables(:'a')), 'Completed{"last": "t1"}', 'applied in the order in which they came');
select is((select count(*) from bpm_core.inbox), 0::bigint, 'nothing is left');
select is(test.broken(), '{}', 'invariants hold at the end');
select * from finish();
rollback;
