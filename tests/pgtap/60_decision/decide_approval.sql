-- bpm.decide_approval: decided once, in effect once.
begin;
select plan(55);
select kit.deploy_gated('caught', true);
select kit.deploy_gated('uncaught', false);

-- Approved
select kit.start('caught') as wi \gset
select (a).id as approval from kit.approval(:'wi') a \gset
select w.lock_version as before from bpm_core.workflow_instance w where w.id = :'wi' \gset
select d.* from bpm.decide_approval(:'approval', 'Approved', 'fine by me', 'ann') d \gset first_
select is(:'first_status'::text || '/' || :'first_effect' || '/' || :'first_instance_status', 'Approved/Applied/Running', 'approved and in effect');
select is(:'first_decided_by'::text, 'ann', 'by the actor named');
select is(:'first_approval_id'::uuid, :'approval'::uuid, 'the answer names the approval');
select is((select a.note from bpm.approval a where a.approval_id = :'approval'), 'fine by me', 'the note is kept');
select is((select t.state || ' ' || t.task_type from bpm_core.task_instance t where t.workflow_instance_id = :'wi'), 'Ready release', 'the task is offered');
select is(kit.history(:'wi', 'Approval%'), 'ApprovalRequested ApprovalDecided ApprovalApplied', 'history has the request, the decision and its effect');
select is((select h.actor || ' ' || h.from_state || ' ' || h.to_state from bpm_core.history_event h where h.workflow_instance_id = :'wi' and h.kind = 'ApprovalDecided'),
          'ann Pending Approved', 'who decided what');
select is((select e.actor || ' ' || e.reason || ' ' || (e.detail ->> 'decision') from bpm_core.audit_event e
            where e.action = 'DecideApproval' and e.aggregate_id = :'approval'), 'ann fine by me Approved', 'a person''s act is audited');
select is((select w.lock_version from bpm_core.workflow_instance w where w.id = :'wi'), :before + 1, 'the instance is written once');

-- The same decision again
select is((select d.status || '/' || d.effect || '/' || d.decided_by from bpm.decide_approval(:'approval', 'Approved', 'me too', 'bob') d), 'Approved/Applied/ann',
          'the same decision again gets the first outcome');
select is((select d.decided_at from bpm.decide_approval(:'approval', 'Approved') d), :'first_decided_at'::timestamptz, 'at the time it was taken');
select is((select a.note from bpm.approval a where a.approval_id = :'approval'), 'fine by me', 'the note stays');
select is((select count(*) from bpm_core.task_instance t where t.workflow_instance_id = :'wi'), 1::bigint, 'no second task');
select is((select count(*) from bpm_core.audit_event e where e.aggregate_id = :'approval'), 1::bigint, 'no second audit row');
select is((select w.lock_version from bpm_core.workflow_instance w where w.id = :'wi'), :before + 1, 'and nothing written');

-- The opposite decision
select kit.raised(format('select from bpm.decide_approval(%L, ''Rejected'')', :'approval')) as opposite \gset
select is(:'opposite'::jsonb ->> 'code', 'BP409', 'the opposite decision is a conflict');
select is(:'opposite'::jsonb #>> '{detail,status}', 'Approved', 'which tells the first outcome');
select is(:'opposite'::jsonb #>> '{detail,decided_by}', 'ann', 'and who took it');

-- The task goes its way
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{release}') c \gset
select is((select c.instance_status from bpm.complete_task(:'task_id', :fencing_token) c), 'Completed', 'the granted task is worked like any other');
select is((select t.status::text from bpm_core.timer t where t.workflow_instance_id = :'wi'), 'Cancelled', 'and its boundary timer goes with it');

-- Rejected and caught
select kit.start('caught') as wi \gset
select (a).id as approval from kit.approval(:'wi') a \gset
select is((select d.status || '/' || d.effect || '/' || d.instance_status from bpm.decide_approval(:'approval', 'Rejected', 'too dear') d), 'Rejected/Applied/Running',
          'rejected: the error is raised at once');
select is((select t.node_id || ' ' || t.state from bpm_core.token t where t.workflow_instance_id = :'wi'), 'tell Waiting', 'and caught by the boundary');
select is(kit.history(:'wi', 'Error%'), 'ErrorCaught', 'history says so');
select is((select h.detail ->> 'code' from bpm_core.history_event h where h.workflow_instance_id = :'wi' and h.kind = 'ErrorCaught'), 'ApprovalRejected', 'with the code');
select is((select string_agg(t.node_id, ' ') from bpm_core.task_instance t where t.workflow_instance_id = :'wi'), 'tell', 'there never was a task to do what was refused');
select is((select t.status::text from bpm_core.timer t where t.workflow_instance_id = :'wi'), 'Cancelled', 'the other boundaries are closed');
select is((select d.status || '/' || d.instance_status from bpm.decide_approval(:'approval', 'Rejected') d), 'Rejected/Running', 'rejecting again changes nothing');
select is((select count(*) from bpm_core.task_instance t where t.workflow_instance_id = :'wi'), 1::bigint, 'nothing at all');
select is(kit.raised(format('select from bpm.decide_approval(%L, ''Approved'')', :'approval')) #>> '{detail,note}', 'too dear', 'approving then is a conflict, with the note');

-- Rejected and not caught
select kit.start('uncaught', '{"amount": 7}') as wi \gset
select (a).id as approval, (a).token_id as token from kit.approval(:'wi') a \gset
select is((select d.status || '/' || d.effect || '/' || d.instance_status from bpm.decide_approval(:'approval', 'Rejected', 'no', 'ann') d), 'Rejected/Applied/Failed',
          'nobody catches it: the instance fails');
select is((select p.status::text from bpm_core.process_instance p join bpm_core.workflow_instance w on w.process_instance_id = p.id where w.id = :'wi'), 'Failed',
          'and its process');
select is((select t.state::text from bpm_core.token t where t.id = :'token'), 'Terminated', 'the token ends');
select is((select d.kind || ' ' || d.state || ' ' || (d.error ->> 'code') || ' ' || (d.error ->> 'decided_by') from bpm.dead_letter d where d.workflow_instance_id = :'wi'),
          'Approval Open ApprovalRejected ann', 'a dead letter tells why');
select is((select d.variables from bpm.dead_letter d where d.workflow_instance_id = :'wi'), '{"amount": 7}', 'with the variables of that moment');
select is((select count(*) from bpm.incident i where i.workflow_instance_id = :'wi'), 0::bigint, 'no incident, which nothing could resolve');
select is(kit.history(:'wi', 'Instance%'), 'InstanceStarted InstanceFailed', 'history ends with the failure');
select throws_ok(format('select from bpm.requeue_dead_letter(%L)', (select d.dead_letter_id from bpm.dead_letter d where d.workflow_instance_id = :'wi')), 'BP409', null,
                 'a refusal cannot be requeued');
select is((select d.status || '/' || d.instance_status from bpm.decide_approval(:'approval', 'Rejected') d), 'Rejected/Failed', 'the same decision again still answers');
select throws_ok(format('select from bpm.decide_approval(%L, ''Approved'')', :'approval'), 'BP409', null, 'and the opposite one still does not');

-- Not caught, with a branch beside it
select kit.deploy('beside',
  '<parallelGateway id="a"/><serviceTask id="g" bpm:type="release" bpm:approval="required"/><serviceTask id="o" bpm:type="other"/><endEvent id="e1"/><endEvent id="e2"/>
   <sequenceFlow id="f1" sourceRef="a" targetRef="g"/><sequenceFlow id="f2" sourceRef="a" targetRef="o"/>
   <sequenceFlow id="f3" sourceRef="g" targetRef="e1"/><sequenceFlow id="f4" sourceRef="o" targetRef="e2"/>');
select kit.start('beside') as wi \gset
select d.instance_status from kit.approval(:'wi') a cross join lateral bpm.decide_approval((a).id, 'Rejected') d \gset
select is(:'instance_status'::text, 'Failed', 'a refusal takes the branches beside it along');
select is((select t.state::text from bpm_core.task_instance t where t.workflow_instance_id = :'wi'), 'Cancelled', 'their tasks are cancelled');

-- Closed approvals
select kit.start('uncaught') as wi \gset
select (a).id as approval from kit.approval(:'wi') a \gset
select from bpm.cancel_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));
select kit.raised(format('select from bpm.decide_approval(%L, ''Approved'')', :'approval')) as closed \gset
select is(:'closed'::jsonb ->> 'code', 'BP409', 'a closed approval cannot be decided');
select is(:'closed'::jsonb #>> '{detail,status}', 'Cancelled', 'the detail says that it is closed');

-- What is refused
select kit.start('uncaught') as wi \gset
select (a).id as approval from kit.approval(:'wi') a \gset
select throws_ok(format('select from bpm.decide_approval(%L, ''Approved'')', bpm_core.new_id()), 'BP404', null, 'unknown approval');
select throws_ok('select from bpm.decide_approval(null, ''Approved'')', 'BP404', null, 'no approval named');
select throws_ok(format('select from bpm.decide_approval(%L, ''Approve'')', :'approval'), 'BP422', null, 'no such decision');
select throws_ok(format('select from bpm.decide_approval(%L, ''Expired'')', :'approval'), 'BP422', null, 'a person cannot let it expire');
select throws_ok(format('select from bpm.decide_approval(%L, null)', :'approval'), 'BP422', null, 'no decision at all');
select throws_ok(format('select from bpm.decide_approval(%L, ''Approved'', repeat(''x'', 4001))', :'approval'), 'BP422', null, 'a note that is too long');
update bpm_core.approval_record a set excluded_actors = '{ann,bob}' where a.id = :'approval';
select throws_ok(format('select from bpm.decide_approval(%L, ''Approved'', p_actor => ''bob'')', :'approval'), 'BP403', null, 'an excluded person may not decide');
select throws_ok(format('select from bpm.decide_approval(%L, ''Approved'', p_tenant_id => ''nobody'')', :'approval'), 'BP403', null, 'nor anybody for a tenant not granted');
select is((select a.status || '/' || a.effect from bpm.approval a where a.approval_id = :'approval'), 'Pending/Pending', 'whatever was refused changed nothing');
select is((select d.status from bpm.decide_approval(:'approval', 'Approved', repeat('x', 4000), 'cid') d), 'Approved', 'a note of 4,000 characters fits');
create role decide_reader;
select from bpm.grant_access('decide_reader', '', 'worker');
grant bpm_operator to decide_reader;
set local role decide_reader;
select throws_ok(format('select from bpm.decide_approval(%L, ''Approved'')', :'approval'), 'BP403', null, 'a worker decides nothing');
reset role;
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
