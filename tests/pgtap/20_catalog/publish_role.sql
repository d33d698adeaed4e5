-- Owner roles: what is new, what is not, what is refused.
begin;
select plan(20);

select results_eq($$select * from bpm.publish_role('clerk', '{"responsibilities": ["pays"], "policy": {"limit": 100}}')$$, $$values (1, true)$$, 'the first version');
select results_eq($$select * from bpm.publish_role(' clerk ', '{"policy": {"limit": 100}, "responsibilities": ["pays"], "capabilities": []}')$$, $$values (1, false)$$, 'the same is the same');
select results_eq($$select * from bpm.publish_role('clerk')$$, $$values (2, true)$$, 'another is the next');
select results_eq($$select * from bpm.publish_role('clerk', '{"responsibilities": ["pays"], "policy": {"limit": 100}}')$$, $$values (1, false)$$, 'an older one is that one again');
select results_eq($$select v.version, v.responsibilities, v.policy, v.capabilities, v.context_profile, d.published_version_id = v.id
    from bpm_core.role_version v join bpm_core.role_definition d on d.id = v.definition_id where d.code = 'clerk' order by 1$$,
  $$values (1, '["pays"]'::jsonb, '{"limit": 100}'::jsonb, '[]'::jsonb, '{}'::jsonb, true), (2, '[]', '{}', '[]', '{}', false)$$, 'both are kept, one is current');
select results_eq($$select a.actor, a.aggregate_version, a.detail from bpm_core.audit_event a where a.action = 'PublishRole' order by a.id$$,
  $$values ('postgres', 1, '{"is_new": true}'::jsonb), ('postgres', 2, '{"is_new": true}'), ('postgres', 1, '{"is_new": false}')$$, 'audited when something moved');
update bpm_core.role_definition d set archived_at = bpm_core.now() where d.code = 'clerk';
select results_eq($$select * from bpm.publish_role('clerk', '{"responsibilities": ["pays"], "policy": {"limit": 100}}')$$, $$values (1, false)$$, 'an archived one published again');
select is((select d.archived_at from bpm_core.role_definition d where d.code = 'clerk'), null, 'is archived no longer');

select throws_ok(x.call, x.code, null, x.code || ' ' || x.call)
  from (values
    ($$select * from bpm.publish_role(null)$$, 'BP400'), ($$select * from bpm.publish_role('  ')$$, 'BP400'), ($$select * from bpm.publish_role(repeat('x', 201))$$, 'BP400'),
    ($$select * from bpm.publish_role('r', null)$$, 'BP422'), ($$select * from bpm.publish_role('r', '[]')$$, 'BP422'), ($$select * from bpm.publish_role('r', '{"model": "x"}')$$, 'BP422'),
    ($$select * from bpm.publish_role('r', '{"responsibilities": "pays"}')$$, 'BP422'), ($$select * from bpm.publish_role('r', '{"capabilities": ["a", "a"]}')$$, 'BP422'),
    ($$select * from bpm.publish_role('r', '{"capabilities": [null]}')$$, 'BP422'), ($$select * from bpm.publish_role('r', '{"policy": []}')$$, 'BP422'),
    ($$select * from bpm.publish_role('r', jsonb_build_object('policy', jsonb_build_object('x', repeat('y', 65536))))$$, 'BP422'),
    ($$select * from bpm.publish_role('r', p_tenant_id => 'nobody')$$, 'BP403')) x (call, code);

select * from finish();
rollback;
