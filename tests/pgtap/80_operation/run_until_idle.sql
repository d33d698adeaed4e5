-- bpm.run_until_idle, bpm.tenants_with_work, bpm.api_version.
begin;
select plan(10);

select test.deploy_everything();
select is(bpm.run_until_idle(), 0, 'nothing to do');
select test.start('everything', '{"amount": 1}', 'A') as a \gset
select test.complete_next('reserve');
select bpm.correlate_message('picked-up', 'A');
select test.complete_next('charge');
select bpm.advance_clock('1 s');
select is(bpm.run_until_idle(), 1, 'the timer fired');
select is(test.standing(:'a'), '{look Waiting}', 'and what followed was done');
select is(bpm.run_until_idle(), 0, 'then there is nothing left');
select throws_ok('select bpm.run_until_idle(p_tenant_id => ''other'')', 'BP403', null, 'a tenant that is not granted');
select throws_ok('select bpm.run_until_idle(0)', 'BP422', null, 'a limit out of range');

select results_eq('select lowest, highest from bpm.api_version()', 'values (1, 1)', 'the interface served');
select bpm.create_tenant('A', 'acme');
select results_eq('select bpm.tenants_with_work(p_idle => true)', $$values (''), ('acme')$$, 'tenants to work for');
update bpm_core.tenant set state = 'Suspended' where tenant_id = 'acme';
select results_eq('select bpm.tenants_with_work(p_idle => true)', $$values ('')$$, 'not the suspended');
select throws_ok('select bpm.run_until_idle(p_tenant_id => ''acme'')', 'BP423', null, 'whose work rests');

select * from finish();
rollback;
