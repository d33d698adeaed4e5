-- bpm.next_due: when a worker should ask again.
begin;
select plan(15);
select test.deploy('job', test.service('pack') || test.service('ship', 'bpm:priority="low"') || '<endEvent id="end"/>' || test.flows('start>pack', 'pack>ship', 'ship>end')) \gset

select is(bpm.next_due('{pack,ship}'), null, 'nothing planned: never');
select test.start('job') as a \gset
select bpm_core.now() as before \gset
select ok(bpm.next_due('{pack}') between :'before' and bpm_core.now(), 'something ready: now');
select is(bpm.next_due('{ship}'), null, 'of another type: never');
select is(bpm.next_due('{pack}', '') is not null, true, 'of this tenant');
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{pack}') c \gset
select is(bpm.next_due('{pack,ship}'), null, 'a task in hand is not planned: its lease is the reaper''s');
select bpm.fail_task(:'task_id', :fencing_token, '"x"', p_retry_in => interval '5 minutes') is not null as failed \gset
select is(bpm.next_due('{pack,ship}'), (select t.available_at from bpm.task t where t.task_id = :'task_id'), 'a retry: when its backoff is over');
select bpm.advance_clock(interval '6 minutes') is not null as moved \gset
select bpm_core.now() as before \gset
select ok(bpm.next_due('{pack,ship}') between :'before' and bpm_core.now(), 'overdue: now');
select test.complete_next('pack') as done \gset
select ok(bpm.next_due('{pack,ship}') between :'before' and bpm_core.now(), 'the lowest priority counts as well');
update bpm_core.task_instance t set available_at = '2100-01-02' where t.state = 'Ready';
select test.start('job') as b \gset
update bpm_core.task_instance t set available_at = '2100-01-01' where t.state = 'Ready' and t.task_type = 'pack';
select is(bpm.next_due('{ship,pack}'), '2100-01-01'::timestamptz, 'of several the first');

select throws_ok($$select bpm.next_due('{}')$$, 'BP422', null, 'no types');
select throws_ok($$select bpm.next_due(null)$$, 'BP422', null, 'none at all');
select throws_ok($$select bpm.next_due('{bpm:user}')$$, 'BP422', null, 'tasks for people');
select throws_ok($$select bpm.next_due('{pack}', 'nobody')$$, 'BP403', null, 'a tenant that is not ours');
select bpm.create_tenant('Other', 'other') is not null as made \gset
select is(bpm.next_due('{pack,ship}', 'other'), null, 'another tenant has nothing planned');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
