-- bpm.requeue_dead_letter: fresh attempts for work that was buried, on the same token.
begin;
select plan(31);
select test.deploy('job', test.service('work', 'bpm:retries="1"') || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset

select test.start('job') as a \gset
select test.fail_next('work') as task \gset
select d.dead_letter_id as letter, d.incident_id as incident from bpm.dead_letter d where d.process_instance_id = :'a' \gset
select t.token_id as token from bpm.task t where t.task_id = :'task' \gset

-- Refused
select throws_ok(format('select * from bpm.requeue_dead_letter(%L, 0)', :'letter'), 'BP422', null, 'no attempts (C20)');
select throws_ok(format('select * from bpm.requeue_dead_letter(%L, -1)', :'letter'), 'BP422', null, 'attempts below nothing');
select throws_ok(format('select * from bpm.requeue_dead_letter(%L, 1001)', :'letter'), 'BP422', null, 'attempts over 1000');
select throws_ok(format('select * from bpm.requeue_dead_letter(%L, null)', :'letter'), 'BP422', null, 'attempts that are null');
select throws_ok($$select * from bpm.requeue_dead_letter('00000000-0000-7000-8000-000000000001')$$, 'BP404', null, 'a dead letter that is not there');
select throws_ok(format('select * from bpm.requeue_dead_letter(%L, p_tenant_id => ''nobody'')', :'letter'), 'BP403', null, 'a tenant that is not ours');
select is((select t.state from bpm.task t where t.task_id = :'task'), 'Failed', 'nothing was changed by them');

-- Requeued
select r.* from bpm.requeue_dead_letter(:'letter', 2, 'ann') r \gset r_
select is(:'r_dead_letter_id' || :'r_outcome', :'letter' || 'Done', 'requeued');
select is((select t.state || ' ' || t.attempt || ' ' || t.max_attempts from bpm.task t where t.task_id = :'task'), 'Ready 1 3', 'the same task, with two attempts more');
select is(test.standing(:'a'), '{"work Waiting"}', 'the token waits again');
select is((select d.state || ' ' || d.closed_by from bpm.dead_letter d where d.dead_letter_id = :'letter'), 'Requeued ann', 'the letter says by whom');
select is((select i.state || ' ' || i.resolved_by from bpm.incident i where i.incident_id = :'incident'), 'Resolved ann', 'so does its incident');
select is((select h.actor || ' ' || (h.detail - 'task') from bpm.get_history(:'a') h where h.kind = 'TaskRequeued'), 'ann {"attempts": 2}', 'and history');
select is((select array_agg(e.actor || ' ' || e.action) from bpm_core.audit_event e where e.aggregate_id = :'incident'), '{"ann ResolveIncident"}', 'it is audited');
select is((select r.outcome::text from bpm.requeue_dead_letter(:'letter', 5) r), 'Done', 'again: the same answer');
select is((select t.max_attempts from bpm.task t where t.task_id = :'task'), 3, 'and no further attempts');
select test.fail_next('work') as f1 \gset
select is((select t.state from bpm.task t where t.task_id = :'task'), 'Ready', 'the first of two fails: retried');
select test.fail_next('work') as f2 \gset
select is((select array_agg(d.state order by d.created_at) from bpm.dead_letter d where d.process_instance_id = :'a'), '{Requeued,Open}', 'the second: another dead letter');
select is((select r.outcome::text from bpm.requeue_dead_letter(:'letter') r), 'Done', 'the old letter stays closed');
select is((select t.state from bpm.task t where t.task_id = :'task'), 'Failed', 'and gives nothing');
select bpm.requeue_dead_letter(d.dead_letter_id) is not null as again from bpm.dead_letter d where d.process_instance_id = :'a' and d.state = 'Open' \gset
select is(test.complete_next('work'), :'task'::uuid, 'the new one does');
select is(test.status(:'a'), 'Completed', 'and the process ends');
select is((select array_agg(e.attempt || e.state order by e.attempt) from bpm.execution e where e.task_id = :'task'), '{1Failed,2Failed,3Failed,4Succeeded}', 'attempts never fall');

-- One branch of a fork is buried while the other waits at the join (A-05)
select test.deploy('forked', test.service('left', 'bpm:retries="1"') || test.service('right') || '<parallelGateway id="fork"/><parallelGateway id="join"/><endEvent id="end"/>'
  || test.flows('start>fork', 'fork>left', 'fork>right', 'left>join', 'right>join', 'join>end')) \gset
select test.start('forked') as b \gset
select test.fail_next('left') as dead \gset
select test.complete_next('right') as done \gset
select is(test.standing(:'b') || test.incidents(:'b'), '{"join Waiting","left Failed","AttemptsExhausted left"}', 'the join waits; that the other branch is buried is not its starving');
select bpm.requeue_dead_letter(d.dead_letter_id) is not null as again from bpm.dead_letter d where d.process_instance_id = :'b' \gset
select test.complete_next('left') as done \gset
select is(test.status(:'b') || ' ' || test.visits(:'b', 'end') || ' ' || (select count(*) from bpm.get_history(:'b') h where h.kind = 'JoinFired'), 'Completed 1 1', 'requeued and completed: the join fires once');

-- Not any more
select test.start('job') as c \gset
select test.fail_next('work') as task \gset
select bpm.discard_dead_letter(d.dead_letter_id, p_actor => 'bob') is not null as discarded from bpm.dead_letter d where d.process_instance_id = :'c' \gset
select throws_ok(format('select * from bpm.requeue_dead_letter(%L)', d.dead_letter_id), 'BP409', null, 'one that was discarded') from bpm.dead_letter d where d.process_instance_id = :'c';
select test.start('job') as d \gset
select test.fail_next('work') as task \gset
select bpm.cancel_process(:'d') is not null as cancelled \gset
select is((select concat_ws(' ', d.state, d.closed_by) from bpm.dead_letter d where d.process_instance_id = :'d'), 'Discarded engine', 'cancelling the process closes its letters');
select throws_ok(format('select * from bpm.requeue_dead_letter(%L)', d.dead_letter_id), 'BP409', null, 'which are not requeued') from bpm.dead_letter d where d.process_instance_id = :'d';
select kit.deploy_gated('gated', false);
select kit.start('gated') as gated \gset
select bpm.decide_approval((a).id, 'Rejected') is not null as rejected from kit.approval(:'gated') a \gset
select throws_ok(format('select * from bpm.requeue_dead_letter(%L)', d.dead_letter_id), 'BP409', null, 'work that an approver refused') from bpm.dead_letter d where d.workflow_instance_id = :'gated';
select kit.deploy_sending('shop') \gset
select kit.sending('shop') as sending \gset
select kit.mark(:'sending', 'Refused') as refused \gset
select throws_ok(format('select * from bpm.requeue_dead_letter(%L)', d.dead_letter_id), 'BP409', null, 'a command') from bpm.dead_letter d where d.workflow_instance_id = :'sending';
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
