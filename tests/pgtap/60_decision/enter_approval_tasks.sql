-- bpm_core.enter_approval_tasks: the gate before the task.
begin;
select plan(15);
select kit.deploy_gated('gated', true);
-- a → b → back to a while again is true
select kit.deploy('looped',
  '<exclusiveGateway id="a"/><serviceTask id="g" bpm:type="release" bpm:approval="required"/><exclusiveGateway id="x" default="out"/><endEvent id="end"/>
   <sequenceFlow id="in" sourceRef="a" targetRef="g"/><sequenceFlow id="on" sourceRef="g" targetRef="x"/>
   <sequenceFlow id="back" sourceRef="x" targetRef="a"><conditionExpression>${again}</conditionExpression></sequenceFlow>
   <sequenceFlow id="out" sourceRef="x" targetRef="end"/>');

select kit.start('gated', '{"amount": 5}') as wi \gset
select (a).id as approval, (a).token_id as token from kit.approval(:'wi') a \gset
select is((select a.status || '/' || a.effect from bpm.approval a where a.approval_id = :'approval'), 'Pending/Pending', 'a decision is asked for');
select is((select a.task_type || ' at ' || a.node_id from bpm.approval a where a.approval_id = :'approval'), 'release at a', 'of the type and node that are gated');
select is((select a.required_approvals from bpm.approval a where a.approval_id = :'approval'), 1, 'by one person');
select is((select t.state || ' ' || t.visit from bpm_core.token t where t.id = :'token'), 'Waiting 1', 'the token waits, at its first visit');
select is((select count(*) from bpm_core.task_instance t where t.workflow_instance_id = :'wi'), 0::bigint, 'no task exists before the decision');
select is((select count(*) from bpm.claim_tasks('w', '{release}')), 0::bigint, 'so nobody can claim one');
select is(kit.history(:'wi', 'Approval%'), 'ApprovalRequested', 'history says that it was asked for');
select is((select h.detail ->> 'approval' from bpm_core.history_event h where h.workflow_instance_id = :'wi' and h.kind = 'ApprovalRequested'), :'approval',
          'and names the approval');
select is((select t.status::text from bpm_core.timer t where t.token_id = :'token'), 'Scheduled', 'boundary timers run while it is being decided');

select count(*) from bpm.start_processes('[{"code": "gated"}, {"code": "gated"}, {"code": "gated"}]') \gset started_
select is((select count(*) from bpm.approval a where a.status = 'Pending'), 4::bigint, 'a set of tokens gets one approval each');

select kit.start('looped', '{"again": true}') as loop \gset
select (a).id as first from kit.approval(:'loop') a \gset
select from bpm.decide_approval(:'first', 'Approved');
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{release}') c \gset
select from bpm.complete_task(:'task_id', :fencing_token);
select (a).id as second, (a).visit as visit from kit.approval(:'loop') a \gset
select isnt(:'second'::uuid, :'first'::uuid, 'coming by again asks anew');
select is(:visit, 2, 'for the new visit');
select is((select a.status::text from bpm_core.approval_record a where a.id = :'second'), 'Pending', 'and is not answered by the old decision');
select from bpm.decide_approval(:'first', 'Approved');
select is((select count(*) from bpm_core.task_instance t where t.workflow_instance_id = :'loop'), 1::bigint, 'nor can the old decision be driven into a task of the new visit');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
