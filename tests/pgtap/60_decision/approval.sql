-- The view bpm.approval.
begin;
select plan(5);
select kit.deploy_gated('gated', true);
select kit.start('gated', '{}', 'K-1') as wi \gset
select is((select a.business_key || ' ' || a.node_id || ' ' || a.status from bpm.approval a where a.workflow_instance_id = :'wi'), 'K-1 a Pending', 'what, where, of which order');
select is((select a.process_instance_id from bpm.approval a where a.workflow_instance_id = :'wi'),
          (select w.process_instance_id from bpm_core.workflow_instance w where w.id = :'wi'), 'of which process');
create role approval_reader;
select from bpm.grant_access('approval_reader', '', 'reader');
grant bpm_reader to approval_reader;
create role approval_stranger;
grant bpm_reader to approval_stranger;
set local role approval_reader;
select is((select count(*) from bpm.approval), 1::bigint, 'a reader of the tenant sees it');
set local role approval_stranger;
select is((select count(*) from bpm.approval), 0::bigint, 'a stranger sees nothing');
select throws_ok('select from bpm_core.approval_record', '42501', null, 'and not the table');
reset role;
select * from finish();
rollback;
