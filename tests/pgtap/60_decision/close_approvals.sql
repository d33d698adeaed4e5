-- bpm_core.close_approvals: what is asked for ends with the step, or the instance.
begin;
select plan(10);
select kit.deploy_gated('gated', true);

select kit.start('gated') as wi \gset
select (a).id as approval from kit.approval(:'wi') a \gset
select from bpm.advance_clock('31 days');
select from bpm.tick();
select is((select a.status::text from bpm.approval a where a.approval_id = :'approval'), 'Cancelled', 'an interrupting timer closes it');
select is((select a.decided_by from bpm.approval a where a.approval_id = :'approval'), null, 'nobody decided it');
select is((select h.from_state || ' ' || h.to_state from bpm_core.history_event h where h.workflow_instance_id = :'wi' and h.kind = 'ApprovalClosed'), 'Pending Cancelled',
          'history says so');
select is((select w.status::text from bpm_core.workflow_instance w where w.id = :'wi'), 'Completed', 'the instance went on by the timer');

select kit.start('gated') as wi \gset
select from bpm.cancel_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));
select is((select (a).status::text from kit.approval(:'wi') a), 'Cancelled', 'a cancelled instance closes it');
select is(kit.history(:'wi', 'Approval%'), 'ApprovalRequested ApprovalClosed', 'once');

select kit.start('gated') as wi \gset
select from kit.approval(:'wi') a cross join lateral bpm.decide_approval((a).id, 'Approved');
select from bpm.cancel_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));
select is((select (a).status || '/' || (a).effect from kit.approval(:'wi') a), 'Approved/Applied', 'a decision that was taken stands');
select is(kit.history(:'wi', 'ApprovalClosed'), null, 'and is not closed');

select kit.start('gated') as other \gset
select bpm_core.close_approvals('', array[bpm_core.new_id()]);
select is((select (a).status::text from kit.approval(:'other') a), 'Pending', 'other tokens'' approvals are left alone');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
