-- I-16 and answers that are parked: a gated task that was answered while its instance is suspended has nothing offered, and that is right.
begin;
select plan(4);
select bpm.deploy_bpmn(test.bpmn('gate', '<startEvent id="start"/><serviceTask id="g" bpm:type="g" bpm:approval="required"/><endEvent id="end"/>' || test.flows('start>g', 'g>end'))) is not null as deployed \gset
select test.start('gate') as p \gset
select test.decide(:'p', 'Approved') \g /dev/null
select t.task_id, t.fencing_token from bpm.claim_tasks('w', '{g}') t \gset
select bpm.suspend_process(:'p') \g /dev/null
select is((select c.outcome || ' ' || c.instance_status from bpm.complete_task(:'task_id', :fencing_token) c), 'Completed Suspended', 'the answer is accepted and parked');
select is_empty('select * from bpm.check_invariants()', 'the token waits for its own answer');
select test.breaks($$delete from bpm_core.inbox$$, '{I-16}', 'without it, it waits for nothing');
select bpm.resume_process(:'p') \g /dev/null
select bpm.run_until_idle() \g /dev/null
select is(test.status(:'p'), 'Completed', 'resumed, it goes on');
select * from finish();
rollback;
