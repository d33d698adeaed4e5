-- I-24 and I-18: every rule about facts, evidence and kept answers is seen to fail, and alone.
begin;
select plan(21);
select bpm.deploy_bpmn(test.linear('carry', 'load')) is not null as deployed \gset
select count(test.start('carry')) as started from generate_series(1, 3) \gset
select c.tasks as t from bpm.claim_tasks_at('w1', '{load}', 3) c \gset
create function pg_temp.fact(p_name text, p_value jsonb) returns jsonb language sql as
$$ select jsonb_build_object('subject_type', 'shipment', 'subject_key', 'S', 'name', p_name, 'value', p_value, 'evidence', '[0]'::jsonb) $$;
select c.outcome from bpm.complete_tasks((
  select jsonb_agg(i.item || jsonb_build_object(
           'evidence', jsonb_build_array(jsonb_build_object('object_key', 'e' || i.n, 'sha256', encode(sha256(convert_to(i.n::text, 'UTF8')), 'hex'))),
           'facts', jsonb_build_array(pg_temp.fact('place', to_jsonb(i.n)), pg_temp.fact('only' || i.n, '1'))))
    from jsonb_array_elements(test.items(:'t')) with ordinality i(item, n))) c \g /dev/null
select p.is_new from bpm.purge_evidence((select e.evidence_id from bpm.evidence e where e.object_key = 'e1'), 'old') p \g /dev/null
select s.receivers from bpm.broadcast_signal('alarm', p_idempotency_key => 'sig') s \g /dev/null
select is_empty('select * from bpm.check_invariants()', 'all is well');

select test.breaks($$update bpm_core.result set verdict = 'Rejected' where task_instance_id = (select task_instance_id from bpm_core.fact where name = 'only1')$$, '{I-24}', 'a fact of a result that was refused');
select test.breaks($$update bpm_core.fact set confirmed_by = 'x' where name = 'only1'$$, '{I-24}', 'confirmed by somebody else');
select test.breaks($$delete from bpm_core.result_evidence where task_instance_id = (select task_instance_id from bpm_core.fact where name = 'only1')$$, '{I-24}', 'evidence that did not come with the result');
select test.breaks($$update bpm_core.fact set evidence_ids = array[bpm_core.new_id()] where name = 'only1'$$, '{I-24}', 'evidence that is not there');
select test.breaks($$update bpm_core.fact set superseded_by = (select id from bpm_core.fact where name = 'only3') where name = 'only1'$$, '{I-24}', 'superseded by a fact about something else');
select test.breaks($$update bpm_core.fact set superseded_by = (select id from bpm_core.fact where name = 'place' and superseded_by is null) where name = 'place' and superseded_by is not null$$,
  '{I-24}', 'one that supersedes two');
select test.breaks($$update bpm_core.fact set superseded_by = (select min(id::text)::uuid from bpm_core.fact where name = 'place') where name = 'place' and superseded_by is null$$, '{I-24}', 'a circle');
select test.breaks($$delete from bpm_core.fact where name like 'only%' and subject_version = 2; update bpm_core.fact set superseded_by = (select id from bpm_core.fact where name = 'place' and subject_version = 3)
  where name = 'place' and subject_version = 1; delete from bpm_core.fact where name = 'place' and subject_version = 2$$, '{I-24}', 'facts that got lost');
select test.breaks($$update bpm_core.subject set lock_version = 2$$, '{I-24}', 'a version that fell');
select test.breaks($$update bpm_core.subject set lock_version = 4$$, '{I-24}', 'a version that nobody wrote');
select test.breaks($$update bpm_core.fact set subject_version = 4 where subject_version = 3; update bpm_core.subject set lock_version = 4$$, '{I-24}', 'a version that was left out');
select test.breaks($$update bpm_core.evidence set object_key = 'other' where object_key = 'e2'$$, '{I-24}', 'evidence that points elsewhere');
select test.breaks($$update bpm_core.evidence set sha256 = sha256('other') where object_key = 'e2'$$, '{I-24}', 'evidence of another content');
select test.breaks($$update bpm_core.evidence set object_key = null, purged_at = now(), purged_by = 'x' where object_key = 'e2'$$, '{I-24}', 'a purge nobody knows of');
select test.breaks($$delete from bpm_core.audit_event where action = 'PurgeEvidence'$$, '{I-24}', 'an audit that got lost');
select throws_ok($$update bpm_core.fact set superseded_by = null where name = 'place'$$, '23505', null, 'two current facts of one name cannot be');
select throws_ok($$update bpm_core.fact set task_instance_id = null, attempt = null$$, '23514', null, 'nor a fact without provenance');

-- I-18
select test.breaks($$update bpm_core.idempotency_key set response = null where key = 'sig'$$, '{I-18}', 'a key without its answer');
select test.breaks($$update bpm_core.idempotency_key set response = response || '{"receivers": 7}' where key = 'sig'$$, '{I-18}', 'another answer');
select test.breaks($$delete from bpm_core.signal$$, '{I-18}', 'a signal that was never sent');

select * from finish();
rollback;
