-- Effects that are still pending: bpm.apply_approval_effects, tick, and the same decision again.
begin;
select plan(27);
select kit.deploy_gated('caught', true);
select kit.deploy_gated('uncaught', false);
-- A decision whose effect did not happen, as a crash between the two would leave it if they were not one transaction.
create function pg_temp.decided(p_code text, p_status text) returns uuid language plpgsql as $$
declare
  v_instance uuid := kit.start(p_code);
begin
  update bpm_core.approval_record a
     set status = p_status::bpm_core.approval_status, decided_by = 'ann', decided_at = bpm_core.now()
   where a.workflow_instance_id = v_instance;
  return v_instance;
end $$;
create function pg_temp.at(p_instance uuid) returns text language sql as $$
  select string_agg(t.node_id || ' ' || t.state, ', ') from bpm_core.token t where t.workflow_instance_id = p_instance
$$;

select pg_temp.decided('caught', 'Approved') as yes \gset
select pg_temp.decided('caught', 'Rejected') as no \gset
select pg_temp.decided('uncaught', 'Rejected') as never \gset
select pg_temp.decided('caught', 'Expired') as late \gset
select is(bpm.apply_approval_effects(), 4, 'all that are pending take effect');
select is((select string_agg(t.state::text, ' ') from bpm_core.task_instance t where t.workflow_instance_id = :'yes'), 'Ready', 'Approved: the task is offered');
select is(pg_temp.at(:'no'), 'tell Waiting', 'Rejected: the error is raised');
select is((select w.status::text from bpm_core.workflow_instance w where w.id = :'never'), 'Failed', 'Rejected and not caught: the instance fails');
select is((select d.kind from bpm.dead_letter d where d.workflow_instance_id = :'never'), 'Approval', 'with a dead letter');
select is(pg_temp.at(:'late'), 'tell Waiting', 'Expired raises the same error');
select is((select count(*) from bpm.approval a where a.effect = 'Pending'), 0::bigint, 'none is left');
select is(bpm.apply_approval_effects(), 0, 'and nothing happens twice');
select is((select count(*) from bpm_core.task_instance t where t.workflow_instance_id = :'yes'), 1::bigint, 'really');

-- The ways it is driven
select pg_temp.decided('caught', 'Approved') as wi \gset
select is((select t.done ->> 'approvals' from bpm.tick() t), '1', 'tick drives it');
select is((select count(*) from bpm_core.task_instance t where t.workflow_instance_id = :'wi'), 1::bigint, 'once');
select pg_temp.decided('caught', 'Approved') as wi \gset
select is((select d.effect || ' ' || d.decided_by from kit.approval(:'wi') a cross join lateral bpm.decide_approval((a).id, 'Approved', null, 'bob') d), 'Applied ann',
          'the same decision drives it, and stays the first one''s');
select is((select count(*) from bpm_core.task_instance t where t.workflow_instance_id = :'wi'), 1::bigint, 'once');
select pg_temp.decided('caught', 'Approved') as wi \gset
select throws_ok(format('select from bpm.decide_approval(%L, ''Rejected'')', (select (a).id from kit.approval(:'wi') a)), 'BP409', null, 'the opposite decision does not');
select is((select count(*) from bpm_core.task_instance t where t.workflow_instance_id = :'wi'), 0::bigint, 'and drives nothing');

-- A token that has left in the meantime
update bpm_core.token t set node_id = 'tell', visit = t.visit + 1 where t.workflow_instance_id = :'wi';
select is(bpm.apply_approval_effects(), 1, 'a decision whose token has left is dealt with');
select is((select count(*) from bpm_core.task_instance t where t.workflow_instance_id = :'wi'), 0::bigint, 'but void');
select is((select h.detail ->> 'void' from bpm_core.history_event h where h.workflow_instance_id = :'wi' and h.kind = 'ApprovalApplied'), 'true', 'as history says');

-- A suspended instance, and one at a time per instance
select pg_temp.decided('caught', 'Approved') as wi \gset
update bpm_core.workflow_instance w set status = 'Suspended' where w.id = :'wi';
select is(bpm.apply_approval_effects(), 0, 'a suspended instance is passed over');
select is((select d.status || '/' || d.effect from kit.approval(:'wi') a cross join lateral bpm.decide_approval((a).id, 'Approved') d), 'Approved/Pending',
          'also by the same decision, which answers that the effect is to come');
update bpm_core.workflow_instance w set status = 'Running' where w.id = :'wi';
select is(bpm.apply_approval_effects(), 1, 'and taken up again later');
select kit.deploy('twice',
  '<parallelGateway id="a"/><serviceTask id="g" bpm:type="release" bpm:approval="required"/><serviceTask id="o" bpm:type="release" bpm:approval="required"/>
   <endEvent id="e1"/><endEvent id="e2"/><sequenceFlow id="f1" sourceRef="a" targetRef="g"/><sequenceFlow id="f2" sourceRef="a" targetRef="o"/>
   <sequenceFlow id="f3" sourceRef="g" targetRef="e1"/><sequenceFlow id="f4" sourceRef="o" targetRef="e2"/>');
select pg_temp.decided('twice', 'Rejected') as wi \gset
select is(bpm.apply_approval_effects(), 1, 'of one instance only the first: it may end what the second stands on');
select is(bpm.apply_approval_effects(), 1, 'the second follows');
select is((select count(*) from bpm.dead_letter d where d.workflow_instance_id = :'wi'), 1::bigint, 'void by then: the instance failed once');

select throws_ok('select bpm.apply_approval_effects(0)', 'BP422', null, 'limit too small');
select throws_ok('select bpm.apply_approval_effects(1001)', 'BP422', null, 'limit too large');
select throws_ok('select bpm.apply_approval_effects(p_tenant_id => ''nobody'')', 'BP403', null, 'tenant not granted');
select * from finish();
rollback;
