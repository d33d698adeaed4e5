-- bpm.cancel_process: ends a process with everything in it.
begin;
select plan(24);
select test.deploy_everything() \gset
create function pg_temp.all_of(p_process_instance_id uuid) returns text[] language sql as $$
  select array_agg(x.what order by x.what) from (
    select 'task ' || t.node_id || ' ' || t.state as what from bpm.task t where t.process_instance_id = p_process_instance_id
    union all select 'timer ' || t.node_id || ' ' || t.status from bpm.timer t where t.process_instance_id = p_process_instance_id
    union all select 'wait ' || s.node_id || ' ' || s.state from bpm_core.subscription s where s.workflow_instance_id = test.workflow(p_process_instance_id)
    union all select 'approval ' || a.node_id || ' ' || a.status from bpm.approval a where a.process_instance_id = p_process_instance_id
    union all select 'command ' || c.node_id || ' ' || c.state from bpm.command c where c.process_instance_id = p_process_instance_id) x $$;

-- In the middle of everything
select test.start('everything', '{"amount": 5}', 'C-1') as a \gset
select test.complete_next('reserve') as done \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{charge}') c \gset
select is(pg_temp.all_of(:'a'), '{"command book Pending","task charge Executing","task reserve Completed","timer slow Scheduled","wait picked Open"}', 'a task in hand, a timer, a wait, a command');
select c.* from bpm.cancel_process(:'a', 'customer called', 'ann') c \gset c_
select is(:'c_process_instance_id' || :'c_status', :'a' || 'Cancelled', 'cancelled');
select is((select concat_ws(' ', i.status, i.live_tokens, i.ended_at is not null, i.open_incidents) from bpm.instance i where i.process_instance_id = :'a'), 'Cancelled 0 t 0', 'with no token left');
select is(pg_temp.all_of(:'a'), '{"command book Cancelled","task charge Cancelled","task reserve Completed","timer slow Cancelled","wait picked Closed"}', 'everything in it is closed, what was done stays done');
select is((select e.state from bpm.execution e where e.task_id = :'task_id'), 'Cancelled', 'the running attempt ends as cancelled');
select is((select c.outcome::text from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', :'task_id', 'fencing_token', :fencing_token))) c), 'Cancelled', 'its worker is told');
select is((select h.detail from bpm.get_history(:'a') h where h.kind = 'InstanceCancelled'), '{"actor": "ann", "reason": "customer called"}'::jsonb, 'history says by whom and why');
select is((select array_agg(e.actor || ' ' || e.action || ' ' || e.reason) from bpm_core.audit_event e where e.aggregate_id = :'a'), '{"ann CancelProcess customer called"}', 'it is audited');
select is((select c.status from bpm.cancel_process(:'a', 'again', 'bob') c), 'Cancelled', 'again: the same answer');
select is((select count(*) from bpm_core.audit_event e where e.aggregate_id = :'a') || ' ' || (select count(*) from bpm.get_history(:'a') h where h.kind = 'InstanceCancelled'), '1 1', 'and nothing written');
select is((select count(*) from bpm.claim_tasks('w', '{reserve,charge,remind}', 10)), 0::bigint, 'none of its tasks is handed out');
select bpm.advance_clock(interval '2 hours') is not null as moved \gset
select is(bpm.run_until_idle(), 0, 'nothing of it is ever due');

-- While an approval is asked for, a token is parked, an incident open
select test.start('everything', '{"amount": 5000}', 'C-2') as b \gset
select test.complete_next('reserve') as done \gset
select bpm.cancel_process(:'b') is not null as cancelled \gset
select is(pg_temp.all_of(:'b'), '{"approval release Cancelled","task reserve Completed"}', 'a pending approval is cancelled');
select test.start('everything', '{"amount": "x"}', 'C-3') as c \gset
select test.complete_next('reserve') as done \gset
select is(test.incidents(:'c'), '{"ConditionUndecidable big"}', 'an open incident');
select bpm.cancel_process(:'c') is not null as cancelled \gset
select is(test.incidents(:'c') || test.standing(:'c'), '{}', 'is resolved with it');

-- A process that has ended stays as it ended
select bpm.deploy_bpmn(test.linear('short', 'only')) is not null as deployed \gset
select test.start('short') as d \gset
select test.complete_next('only') as done \gset
select is((select c.status from bpm.cancel_process(:'d') c), 'Completed', 'one that was completed says so');
select is((select count(*) from bpm_core.audit_event e where e.aggregate_id = :'d'), 0::bigint, 'that is no act');

-- Refused
select test.start('short') as e \gset
select throws_ok($$select * from bpm.cancel_process('00000000-0000-7000-8000-000000000001')$$, 'BP404', null, 'a process that is not there');
select throws_ok($$select * from bpm.cancel_process(null)$$, 'BP404', null, 'no process');
select throws_ok(format('select * from bpm.cancel_process(%L, p_tenant_id => ''nobody'')', :'e'), 'BP403', null, 'a tenant that is not ours');
select throws_ok(format('select * from bpm.cancel_process(%L, null, '' '')', :'e'), 'BP400', null, 'an actor without a name');
select throws_ok(format('select * from bpm.cancel_process(%L, repeat(''x'', 4001))', :'e'), 'BP422', null, 'a reason too long');
select is(test.status(:'e'), 'Running', 'nothing was changed by them');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
