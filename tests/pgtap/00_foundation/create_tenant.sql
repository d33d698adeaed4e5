-- bpm.create_tenant and bpm.grant_access: audited, repeatable, and enough to work with.
begin;
select plan(18);

create role t_worker;
grant bpm_worker to t_worker;
select is(bpm.create_tenant('Acme Ltd', 'acme', 'ann'), 'acme', 'creates');
select is(bpm.create_tenant('Acme Inc', 'acme'), 'acme', 'or renames');
select results_eq('select name, state from bpm_core.tenant where tenant_id = ''acme''', $$values ('Acme Inc', 'Active')$$, 'one row');
select lives_ok('select bpm.grant_access(''t_worker'', ''acme'', ''worker'')', 'grants');
select lives_ok('select bpm.grant_access(''t_worker'', ''acme'', ''worker'')', 'and again');
select is((select count(*) from bpm_core.tenant_grant g where g.role_name = 't_worker'), 1::bigint, 'which is the same grant');
select throws_ok('select bpm.grant_access(''t_worker'', ''acme'', ''worker'', null, null)', 'BP400', null, 'not for no tenant');
select throws_ok('select bpm.grant_access(''t_worker'', null, ''worker'')', 'BP400', null, 'nor without a pattern');
select throws_ok('select bpm.grant_access(''t_worker'', repeat(''x'', 100000), ''worker'')', 'BP400', null, 'nor one no tenant can have');
select throws_ok('select bpm.create_tenant(repeat(''x'', 201), ''acme'')', 'BP400', null, 'a name has bounds');
select throws_ok('select bpm.create_tenant(''Below'', ''below'', p_tenant_id => ''acme'')', 'BP403', null, 'there are no tenants of tenants, also for an admin of it');
select throws_ok('select bpm.create_tenant(''Below'', ''below'', p_tenant_id => null)', 'BP400', null, 'nor of none');
select is_empty('select from bpm_core.tenant t where t.tenant_id = ''below''', 'and none is made');
select results_eq('select action, count(*) from bpm_core.audit_event group by 1 order by 1',
  $$values ('CreateTenant', 2::bigint), ('GrantAccess', 2)$$, 'both are audited');
select lives_ok('select bpm.grant_access(''t_worker'', ''acme%'', ''reader'', null, ''nobody'')', 'a pattern is granted as admin of the tenant without a name');
select is_empty('select * from bpm_core.audit_event a where a.tenant_id = ''nobody''', 'and recorded there, not with whatever tenant was named');
set local role t_worker;
select results_eq('select bpm.tenants_with_work(p_idle => true)', $$values ('acme')$$, 'the role may work for it');
select throws_ok('select bpm.tick()', 'BP403', null, 'and for no other');

select * from finish();
rollback;
