-- Evidence: kept once, as metadata; never with a credential; purged to a tombstone that nothing new may refer to.
begin;
select plan(72);
create function pg_temp.piece(p_key text, p_content text default 'a', p_more jsonb default '{}') returns jsonb language sql as
$$ select jsonb_build_object('object_key', p_key, 'sha256', encode(sha256(convert_to(p_content, 'UTF8')), 'hex')) || p_more $$;
create function pg_temp.refused(p_items jsonb) returns text language plpgsql as $$
begin
  perform bpm.attach_evidence(p_items);
  return 'taken';
exception when sqlstate 'BP422' then
  return sqlerrm;
end $$;

-- Kept, once
select e.* from bpm.attach_evidence(jsonb_build_array(pg_temp.piece('scans/1.pdf', 'a', '{"mime": "application/pdf", "size_bytes": 12, "occurred_at": "2026-03-01T10:00:00+01:00"}'))) e \gset e_
select is((select jsonb_build_array(e.object_key, e.sha256, e.mime, e.size_bytes, e.occurred_at = '2026-03-01 09:00+00', e.created_by, e.purged_at) from bpm.evidence e where e.evidence_id = :'e_evidence_id'),
  jsonb_build_array('scans/1.pdf', encode(sha256('a'), 'hex'), 'application/pdf', 12, true, session_user, null), 'metadata is kept');
select is((select e.evidence_id from bpm.attach_evidence(jsonb_build_array(pg_temp.piece('scans/1.pdf', 'a', '{"mime": "text/plain"}'))) e), :'e_evidence_id', 'the same object is found again');
select is((select e.mime from bpm.evidence e where e.evidence_id = :'e_evidence_id'), 'application/pdf', 'as it was first described');
select results_eq($$select count(*), count(distinct x.evidence_id), array_agg(x.item order by x.item) from bpm.attach_evidence(jsonb_build_array(
    pg_temp.piece('b'), pg_temp.piece('a'), pg_temp.piece('b'), pg_temp.piece('b', 'other'), pg_temp.piece('A'))) x$$, $$values (5::bigint, 4::bigint, '{1,2,3,4,5}'::integer[])$$,
  'in item order; twice the same is one; another content or another place is another piece');
select is((select array_agg(e.object_key || ' ' || left(e.sha256, 4) order by x.item) from bpm.attach_evidence(jsonb_build_array(pg_temp.piece('b'), pg_temp.piece('a'), pg_temp.piece('b', 'other'))) x join bpm.evidence e on e.evidence_id = x.evidence_id),
  (select array[ 'b ' || left(encode(sha256('a'), 'hex'), 4), 'a ' || left(encode(sha256('a'), 'hex'), 4), 'b ' || left(encode(sha256('other'), 'hex'), 4)]), 'each item its own');
select is((select count(*) from bpm.attach_evidence('[]')), 0::bigint, 'none are none');
select is((select x.evidence_id from bpm.attach_evidence(jsonb_build_array(jsonb_build_object('evidence_id', :'e_evidence_id'))) x), :'e_evidence_id', 'what is kept may be named');
select is((select count(*)::integer from bpm_core.audit_event a where a.action = 'AttachEvidence' and a.actor = session_user), 6, 'audited');

-- On a task
select bpm.deploy_bpmn(test.linear('carry', 'load')) is not null as deployed \gset
select test.start('carry') as p \gset
select t.task_id as task from bpm.task t where t.process_instance_id = :'p' \gset
select is((select count(*) from generate_series(1, 2) cross join lateral bpm.attach_evidence(jsonb_build_array(pg_temp.piece('photo'), pg_temp.piece('photo')), :'task')), 4::bigint, 'attached to a task, twice');
select is((select array_agg(e.object_key::text) from bpm_core.task_evidence t join bpm.evidence e on e.evidence_id = t.evidence_id where t.task_instance_id = :'task'), '{photo}', 'is attached once');
select is((select jsonb_agg(jsonb_build_array(v.object_key, v.attempt, v.process_instance_id, v.node_id, v.sha256)) from bpm.task_evidence v where v.task_id = :'task'),
  jsonb_build_array(jsonb_build_array('photo', null, :'p', 'load', encode(sha256('a'), 'hex'))), 'and whoever works on it sees it in a view');
select throws_ok($$select * from bpm.attach_evidence('[]', '00000000-0000-7000-8000-000000000001')$$, 'BP404', 'There is no task 00000000-0000-7000-8000-000000000001.', 'a task that is not there');

-- Refused
select is(pg_temp.refused(jsonb_build_array(pg_temp.piece(x.key))), 'taken', 'taken: ' || x.key)
  from (values ('a/b c/d.pdf'), ('s3://bucket/dir/file.pdf'), ('https://store.example/a/b.pdf'), ('s3://b/k?versionId=abc.1-2_3'),
               ('gs://b/k?generation=1700000000'), ('urn:isbn:12'), ('people/anna@example.org/id.png'), ('what?.txt'), ('https://store.example/~anna@home/x')) x (key);
select isnt(pg_temp.refused(jsonb_build_array(pg_temp.piece(x.key))), 'taken', 'refused: ' || x.key)
  from (values ('https://anna:pw@store.example/a'), ('ftp://anna@store.example/a'), ('//anna:pw@host/a'), ('https:anna:pw@host/a'), ('data:text/plain;base64,QQ=='),
               ('https://s3.example/a?X-Amz-Signature=abc&X-Amz-Expires=60'), ('https://x.blob.example/a?sv=2020&se=2026&sig=abc'), ('https://store.example/a?token=t'), ('k?sig=x'),
               ('https://store.example/a#access_token=t'), ('https://store.example/a;jsessionid=3'), ('s3://b/k?versionId=1&X-Amz-Signature=2'), (E'a\nb'), (''), (repeat('x', 1025))) x (key);
select unalike(pg_temp.refused(jsonb_build_array(pg_temp.piece('https://anna:geheim@store.example/a'))), '%geheim%', 'the message does not repeat what was refused');
select isnt(pg_temp.refused(x.items::jsonb), 'taken', 'refused: ' || left(x.items, 80))
  from (values ('{}'), ('null'), ('"x"'), ('[1]'), ('[{}]'), ('[{"object_key": "a"}]'), ('[{"object_key": "a", "sha256": "00"}]'), ('[{"object_key": 5, "sha256": "' || repeat('0', 64) || '"}]'),
               ('[{"object_key": "a", "sha256": "' || repeat('g', 64) || '"}]'), ('[{"object_key": "a", "sha256": "' || repeat('0', 64) || '", "mime": "pdf"}]'),
               ('[{"object_key": "a", "sha256": "' || repeat('0', 64) || '", "size_bytes": -1}]'), ('[{"object_key": "a", "sha256": "' || repeat('0', 64) || '", "size_bytes": 1.5}]'),
               ('[{"object_key": "a", "sha256": "' || repeat('0', 64) || '", "occurred_at": "2026-02-30"}]'), ('[{"object_key": "a", "sha256": "' || repeat('0', 64) || '", "url": "x"}]'),
               ('[{"evidence_id": "x"}]'), ('[{"evidence_id": "00000000-0000-7000-8000-000000000001", "mime": "a/b"}]')) x (items);
select is(pg_temp.refused((select jsonb_agg(pg_temp.piece('many')) from generate_series(1, 101))), '101 pieces of evidence at once; at most 100.', 'bounded');
select is(pg_temp.refused(jsonb_build_array(pg_temp.piece('a'), '5'::jsonb)), 'Evidence 2: it must be an object.', 'says which');

-- Purged
select p.* from bpm.purge_evidence(:'e_evidence_id', 'asked for by the person', 'dora') p \gset p_
select is(:'p_object_key' || :'p_is_new', 'scans/1.pdft', 'tells what to remove from the store');
select is((select jsonb_build_array(e.object_key, e.sha256, e.mime, e.purged_by, e.purged_at is not null) from bpm.evidence e where e.evidence_id = :'e_evidence_id'),
  jsonb_build_array(null, encode(sha256('a'), 'hex'), 'application/pdf', 'dora', true), 'a tombstone is left, with the hash');
select is((select jsonb_build_array(a.actor, a.reason, a.detail ->> 'sha256', a.detail::text ~ 'scans') from bpm_core.audit_event a where a.action = 'PurgeEvidence'),
  jsonb_build_array('dora', 'asked for by the person', encode(sha256('a'), 'hex'), false), 'audited, without the key');
select is((select jsonb_build_array(p.object_key, p.purged_at, p.is_new) from bpm.purge_evidence(:'e_evidence_id', 'again') p), jsonb_build_array(null, :'p_purged_at'::timestamptz, false), 'purged once');
select is((select count(*)::integer from bpm_core.audit_event a where a.action = 'PurgeEvidence'), 1, 'audited once');
select throws_ok($$select * from bpm.attach_evidence(jsonb_build_array(pg_temp.piece('z', 'z'), pg_temp.piece('scans/1.pdf')))$$, 'BP409', 'Evidence 2 was purged or is not there.', 'what was purged is not brought in again');
select throws_ok(format($$select * from bpm.attach_evidence('[{"evidence_id": "%s"}]')$$, :'e_evidence_id'), 'BP409', null, 'nor named');
select throws_ok($$select * from bpm.attach_evidence('[{"evidence_id": "00000000-0000-7000-8000-000000000001"}]')$$, 'BP409', null, 'nor is what was never there');
select throws_ok(format($$select * from bpm.purge_evidence(%L, ' ')$$, :'e_evidence_id'), 'BP400', null, 'a purge needs a reason');
select throws_ok($$select * from bpm.purge_evidence('00000000-0000-7000-8000-000000000001', 'x')$$, 'BP404', null, 'nothing to purge');

-- Another tenant
select bpm.create_tenant('Other', 'other') is not null as made \gset
select throws_ok(format($$select * from bpm.attach_evidence('[{"evidence_id": "%s"}]', p_tenant_id => 'other')$$, (select e.evidence_id from bpm.evidence e where e.object_key = 'photo')), 'BP409', null, 'another tenant''s is not there');
select throws_ok(format($$select * from bpm.attach_evidence('[]', %L, p_tenant_id => 'other')$$, :'task'), 'BP404', null, 'nor is its task');
select throws_ok(format($$select * from bpm.purge_evidence(%L, 'x', p_tenant_id => 'other')$$, (select e.evidence_id from bpm.evidence e where e.object_key = 'photo')), 'BP404', null, 'nor can it purge it');
select throws_ok($$select * from bpm.attach_evidence('[]', p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant that is not granted');
select throws_ok($$select * from bpm.purge_evidence('00000000-0000-7000-8000-000000000001', 'x', p_tenant_id => 'nobody')$$, 'BP403', null, 'likewise');
select is((select count(*) from bpm.attach_evidence(jsonb_build_array(pg_temp.piece('scans/1.pdf')), p_tenant_id => 'other')), 1::bigint, 'the same object is its own piece in another tenant, purged or not here');

select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
