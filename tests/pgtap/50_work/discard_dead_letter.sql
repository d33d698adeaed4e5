-- bpm.discard_dead_letter: closes a letter without doing its work again.
begin;
select plan(12);
select test.deploy('job', test.service('work', 'bpm:retries="1"') || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset
select test.start('job') as a \gset
select test.fail_next('work') as task \gset
select d.dead_letter_id as letter, d.incident_id as incident from bpm.dead_letter d where d.process_instance_id = :'a' \gset

select r.* from bpm.discard_dead_letter(:'letter', 'not needed', 'ann') r \gset r_
select is(:'r_dead_letter_id' || :'r_outcome', :'letter' || 'Done', 'discarded');
select is((select d.state || ' ' || d.closed_by || ' ' || (d.closed_at is not null) from bpm.dead_letter d where d.dead_letter_id = :'letter'), 'Discarded ann true', 'by whom, and when');
select is((select e.actor || ' ' || e.action || ' ' || e.reason from bpm_core.audit_event e where e.aggregate_id = :'letter'), 'ann DiscardDeadLetter not needed', 'it is audited, with its reason');
select is(test.standing(:'a') || test.incidents(:'a'), '{"work Failed","AttemptsExhausted work"}', 'the token still stands there, and its incident is open');
select is((select r.outcome::text from bpm.discard_dead_letter(:'letter', p_actor => 'bob') r), 'Done', 'again: the same answer');
select is((select d.closed_by from bpm.dead_letter d where d.dead_letter_id = :'letter') || (select count(*) from bpm_core.audit_event e where e.aggregate_id = :'letter'), 'ann1', 'and nothing written');

-- The incident can be resolved all the same
select bpm.resolve_incident(:'incident') is not null as resolved \gset
select is((select t.state from bpm.task t where t.task_id = :'task') || (select d.state from bpm.dead_letter d where d.dead_letter_id = :'letter'), 'ReadyDiscarded', 'the incident can be resolved, the letter stays discarded');

select test.fail_next('work') as task \gset
select bpm.requeue_dead_letter(d.dead_letter_id) is not null as requeued from bpm.dead_letter d where d.state = 'Open' \gset
select throws_ok(format('select * from bpm.discard_dead_letter(%L)', d.dead_letter_id), 'BP409', null, 'one that was requeued') from bpm.dead_letter d where d.state = 'Requeued';
select throws_ok($$select * from bpm.discard_dead_letter('00000000-0000-7000-8000-000000000001')$$, 'BP404', null, 'one that is not there');
select throws_ok(format('select * from bpm.discard_dead_letter(%L, p_tenant_id => ''nobody'')', :'letter'), 'BP403', null, 'a tenant that is not ours');
select throws_ok(format('select * from bpm.discard_dead_letter(%L, repeat(''x'', 4001))', :'letter'), 'BP422', null, 'a reason too long');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
