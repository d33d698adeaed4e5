-- bpm.suspend_process where call activities have started other workflows: all of them, and the row that comes back waits.
begin;
select plan(16);
select test.deploy('inner', test.service('deep') || '<endEvent id="done"/>' || test.flows('start>deep', 'deep>done')) \gset
select test.deploy('outer', '<callActivity id="call" calledElement="inner"/>' || test.service('after') || '<endEvent id="end"/>' || test.flows('start>call', 'call>after', 'after>end')) \gset
create function pg_temp.statuses(p_process_instance_id uuid) returns text language sql as $$
  select string_agg(w.binding_key || ' ' || w.status, ', ' order by w.binding_key) from bpm_core.workflow_instance w where w.process_instance_id = p_process_instance_id $$;

select (bpm.start_process('outer')).process_instance_id as a \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{deep}') c \gset
select (bpm.start_process('outer')).process_instance_id as b \gset
select bpm.suspend_process(:'a') is not null as suspended \gset
select is(pg_temp.statuses(:'a'), 'call:call Suspended, main Suspended', 'both, all at once');
select is((select count(*) from bpm.claim_tasks('w', '{deep}', 10)), 1::bigint, 'other processes go on');
select is((select c.instance_status from bpm.complete_task(:'task_id', :fencing_token) c), 'Suspended', 'the answer is parked in the one called');
select is(bpm.run_until_idle(), 0, 'nothing goes back to the caller');
select is(test.broken(), '{}', 'invariants hold while both are suspended');
select bpm.resume_process(:'a') is not null as resumed \gset
select is(bpm.run_until_idle() > 0, true, 'resumed');
select is(pg_temp.statuses(:'a') || ' ' || test.standing(:'a')::text, 'call:call Completed, main Running {"after Waiting"}', 'the one called has ended, the caller goes on');
select is(test.broken(), '{}', 'invariants hold after it');

-- The end of the one called reaches a caller that is suspended meanwhile
select (bpm.start_process('outer')).process_instance_id as c \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{deep}') c \gset
select bpm.complete_task(:'task_id', :fencing_token) is not null as completed \gset
select bpm.suspend_process(:'c') is not null as suspended \gset
select is(pg_temp.statuses(:'c') || ' ' || bpm.run_until_idle(), 'call:call Completed, main Suspended 1', 'what comes back is set aside');
select is(test.standing(:'c')::text || bpm.run_until_idle(), '{"call Waiting"}0', 'and waits');
select bpm.resume_process(:'c') is not null as resumed \gset
select is(bpm.run_until_idle() > 0, true, 'until the caller is resumed');
select is(test.standing(:'c')::text || test.broken()::text, '{"after Waiting"}{}', 'and goes on');

-- Cancelled while suspended: down through the inbox
select (bpm.start_process('outer')).process_instance_id as d \gset
select bpm.suspend_process(:'d') is not null as suspended \gset
select is((select c.status from bpm.cancel_process(:'d') c), 'Cancelled', 'a suspended one can be cancelled');
select is(bpm.run_until_idle() > 0, true, 'which tells those it has called');
select is(pg_temp.statuses(:'d'), 'call:call Cancelled, main Cancelled', 'though they are suspended');
select is(test.broken(), '{}', 'invariants hold at the end');
select * from finish();
rollback;
