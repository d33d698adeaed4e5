-- bpm.revoke_access, the views of grants and tenants, tenants suspended and resumed.
begin;
select plan(38);

create role t_revoke_one; create role t_revoke_admin; create role t_revoke_owner;
grant bpm_worker to t_revoke_one;
grant bpm_admin to t_revoke_admin, t_revoke_owner;
select bpm.create_tenant('Acme', 'acme');
select bpm.create_tenant('Acme two', 'acme-2');
select bpm.grant_access('t_revoke_one', 'acme', 'worker');
select bpm.grant_access('t_revoke_one', 'acme', 'reader');
select bpm.grant_access('t_revoke_one', 'acme-%', 'reader');
select bpm.grant_access('t_revoke_admin', 'acme', 'admin');

-- Who may what
select set_eq($$select tenant_id::text, tenant_pattern::text, capability from bpm.access where role_name = 't_revoke_one' order by 1, 3$$,
  $$values ('acme', 'acme', 'reader'), ('acme', 'acme', 'worker'), ('acme-2', 'acme-%', 'reader')$$, 'the view shows who may what for which tenant, and why');
set local role t_revoke_admin;
select set_eq('select tenant_id::text, role_name::text from bpm.access', $$values ('acme', 't_revoke_one'), ('acme', 't_revoke_admin'), ('acme', session_user::text)$$, 'an admin sees the grants of its own tenant');
select set_eq('select tenant_id::text, name, state from bpm.tenant', $$values ('acme', 'Acme', 'Active')$$, 'and its tenant');
set local role t_revoke_one;
select is_empty('table bpm.access', 'who is no admin sees no grants');
select set_eq('select tenant_id::text from bpm.tenant order by 1', $$values ('acme'), ('acme-2')$$, 'but the tenants he may read');
reset role;
select bpm.grant_access('t_revoke_one', 'nobody-%', 'reader');
select set_eq($$select tenant_id::text, tenant_pattern::text from bpm.access where role_name = 't_revoke_one' and tenant_pattern = 'nobody-%'$$,
  $$values ('', 'nobody-%')$$, 'a grant that covers no tenant is shown too');

-- Revoking
set local role t_revoke_admin;
select throws_ok($$select bpm.revoke_access('t_revoke_one', 'acme-%', 'reader', p_tenant_id => 'acme')$$, 'BP403', null, 'the admin of a tenant revokes no pattern');
select throws_ok($$select bpm.revoke_access('t_revoke_one', 'acme-2', 'reader', p_tenant_id => 'acme-2')$$, 'BP403', null, 'nor in another tenant');
select ok(bpm.revoke_access('t_revoke_one', 'acme', 'worker', p_tenant_id => 'acme'), 'but a grant of its own tenant');
select ok(not bpm.revoke_access('t_revoke_one', 'acme', 'worker', p_tenant_id => 'acme'), 'the second time there is nothing to revoke');
select ok(not bpm.revoke_access('nobody at all', 'acme', 'worker', p_tenant_id => 'acme'), 'nor from a role that is not there');
reset role;
select set_eq($$select tenant_id::text, actor, aggregate_id, detail from bpm_core.audit_event where action = 'RevokeAccess'$$,
  $$values ('acme', 't_revoke_admin', 't_revoke_one', '{"tenant_pattern": "acme", "capability": "worker"}'::jsonb)$$, 'it is audited, once');
set local role t_revoke_one;
select is_empty('select bpm.tenants_with_work(p_idle => true)', 'the role works for no tenant any more');
select isnt_empty($$select bpm.metrics('acme')$$, 'what it was granted otherwise it keeps');
select throws_ok($$select bpm.tick(p_tenant_id => 'acme')$$, 'BP403', null, 'the call is refused');
reset role;
select throws_ok($$select bpm.revoke_access(null, 'acme', 'worker')$$, 'BP400', null, 'no role');
select throws_ok($$select bpm.revoke_access(repeat('x', 64), 'acme', 'worker')$$, 'BP400', null, 'no role can be called that');
select throws_ok($$select bpm.revoke_access('t_revoke_one', null, 'worker')$$, 'BP400', null, 'no pattern');
select throws_ok($$select bpm.revoke_access('t_revoke_one', repeat('x', 202), 'worker')$$, 'BP400', null, 'no tenant can be called that');
select throws_ok($$select bpm.revoke_access('t_revoke_one', 'acme', 'king')$$, 'BP400', null, 'no capability');
select throws_ok($$select bpm.revoke_access('t_revoke_one', 'acme', null)$$, 'BP400', null, 'none at all');
select throws_ok($$select bpm.revoke_access('t_revoke_one', 'acme', 'worker', null, null)$$, 'BP400', null, 'no tenant');
select bpm.grant_access('t_revoke_owner', '', 'admin');
delete from bpm_core.tenant_grant g where g.capability = 'admin' and g.tenant_pattern in ('', '%') and g.role_name <> 't_revoke_owner';
select throws_ok($$select bpm.revoke_access('t_revoke_owner', '', 'admin')$$, 'BP409', null, 'the last admin stays');
select bpm.grant_access(session_user::text, '%', 'admin');
select ok(bpm.revoke_access('t_revoke_owner', '', 'admin'), 'but not the last but one');

-- Suspended tenants
select bpm.grant_access('t_revoke_one', 'acme', 'worker');
select ok(bpm.suspend_tenant('acme', 'unpaid', 'ann'), 'a tenant is suspended');
select ok(not bpm.suspend_tenant('acme'), 'once');
select results_eq('select state from bpm.tenant where tenant_id = ''acme''', $$values ('Suspended')$$, 'as everybody sees');
set local role t_revoke_one;
select throws_ok($$select bpm.tick(p_tenant_id => 'acme')$$, 'BP423', null, 'it does not move');
select lives_ok($$select bpm.metrics('acme')$$, 'it can be read');
select is_empty('select bpm.tenants_with_work(p_idle => true)', 'runners pass it by');
set local role t_revoke_admin;
select throws_ok($$select bpm.resume_tenant('acme', p_tenant_id => 'acme')$$, 'BP423', null, 'its own admin does not resume it');
select throws_ok($$select bpm.resume_tenant('acme')$$, 'BP403', null, 'by no way');
reset role;
select ok(bpm.resume_tenant('acme', 'paid') and not bpm.resume_tenant('acme'), 'resumed, once');
select set_eq($$select action, actor, reason from bpm_core.audit_event where action like '%eTenant' and reason is not null or action = 'SuspendTenant' order by at$$,
  $$values ('SuspendTenant', 'ann', 'unpaid'), ('ResumeTenant', session_user::text, 'paid')$$, 'audited');
select throws_ok($$select bpm.suspend_tenant('')$$, 'BP422', null, 'the tenant without a name cannot be suspended');
select throws_ok($$select bpm.suspend_tenant(null)$$, 'BP400', null, 'nor none');
select throws_ok($$select bpm.suspend_tenant('nobody')$$, 'BP404', null, 'nor one that is not there');
select throws_ok($$select bpm.suspend_tenant('acme', repeat('x', 4001))$$, 'BP422', null, 'a reason has bounds');

select * from finish();
rollback;
