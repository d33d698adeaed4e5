-- A boundary event that nothing leads away from: a warning, and its path ends there.
begin;
select plan(9);
create function pg_temp.drawn(p_interrupting boolean) returns text language sql as $$
  select test.service('job') || test.timer('slow', '<timeDuration>PT1H</timeDuration>', 'job', p_interrupting)
         || '<boundaryEvent id="odd" attachedToRef="job"><errorEventDefinition/></boundaryEvent><endEvent id="end"/>' || test.flows('start>job', 'job>end')
$$;
select results_eq($$select f.severity, f.code, f.node_id from bpm.check_bpmn(test.bpmn('cut', '<startEvent id="start"/>' || pg_temp.drawn(true))) f where f.code in ('DeadEnd', 'ImplicitEnd') order by 3$$,
  $$values ('warning', 'ImplicitEnd', 'odd'), ('warning', 'ImplicitEnd', 'slow')$$, 'it is odd and no fault');
select test.deploy('cut', pg_temp.drawn(true)) \gset
select test.deploy('beside', pg_temp.drawn(false)) \gset

select test.start('cut') as a \gset
select bpm.advance_clock('61 minutes') as later \gset
select bpm.run_until_idle() as done \gset
select is((select p.status::text from bpm.instance p where p.process_instance_id = :'a'), 'Completed', 'an interrupting one ends the last token');
select is(test.history(:'a', 'TimerFired') || test.history(:'a', 'TaskCancelled') || test.history(:'a', 'TokenCompleted'), '{"TimerFired 1","TaskCancelled 1","TokenCompleted 1"}', 'the task is closed');

select test.start('beside') as b \gset
select bpm.advance_clock('61 minutes') as later \gset
select bpm.run_until_idle() as done \gset
select is(test.standing(:'b'), '{"job Waiting"}', 'one that does not interrupt leaves its host alone');
select is(test.history(:'b', 'TimerFired') || test.history(:'b', 'TokenCompleted'), '{"TimerFired 1","TokenCompleted 1"}', 'and its own token ends');
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{job}') c \gset
select is((select t.outcome || ' ' || t.instance_status from bpm.throw_error(:'task_id', :fencing_token, 'x') t), 'Done Completed', 'an error that is caught so ends too');
select is(test.incidents(:'b'), '{}', 'and is no incident');
select is((select count(*) from bpm.instance p where p.status = 'Completed'), 2::bigint, 'both have ended');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
