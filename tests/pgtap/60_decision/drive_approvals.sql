-- Positions of the two pickers of approvals: where something was left they stay, otherwise they move on.
begin;
select plan(12);
select kit.deploy_gated('caught', true);
create function pg_temp.decided() returns uuid language plpgsql as $$
declare
  v_instance uuid := kit.start('caught');
begin
  update bpm_core.approval_record a set status = 'Approved', decided_by = 'ann', decided_at = bpm_core.now() where a.workflow_instance_id = v_instance;
  return v_instance;
end $$;
create function pg_temp.late() returns uuid language plpgsql as $$
declare
  v_instance uuid := kit.start('caught');
begin
  update bpm_core.approval_record a set (expires_at, due_at) = (select n.at, n.at from (select bpm_core.now() + interval '1 second' as at offset 0) n) where a.workflow_instance_id = v_instance;
  return v_instance;
end $$;
create function pg_temp.process(p_instance uuid) returns uuid language sql as $$ select w.process_instance_id from bpm_core.workflow_instance w where w.id = p_instance $$;

-- Effects
select k.positions as p from bpm.tick() k \gset
select pg_temp.decided() as a \gset
select from bpm.suspend_process(pg_temp.process(:'a'));
select pg_temp.decided() as b \gset
select (k.done ->> 'approvals')::integer as did, k.positions as p from bpm.tick(p_positions => :'p') k \gset
select is(:did, 1, 'an effect in a suspended instance keeps no other waiting');
select is((:'p'::jsonb -> 'approvals' ->> 'reached_at')::timestamptz < (select a.decided_at from bpm_core.approval_record a where a.workflow_instance_id = :'a'), true, 'the position stays before it');
select from bpm.resume_process(pg_temp.process(:'a'));
select (k.done ->> 'approvals')::integer as did, k.positions as p from bpm.tick(p_positions => :'p') k \gset
select is(:did, 1, 'so that the first tick after it was resumed has it');
select from bpm.advance_clock('5 seconds');
select (k.done ->> 'approvals')::integer as did, k.positions as p from bpm.tick(p_positions => :'p') k \gset
select is(:did, 0, 'once');
select is((:'p'::jsonb -> 'approvals' ->> 'reached_at')::timestamptz > (select max(a.decided_at) from bpm_core.approval_record a), true, 'and the position has moved on');

-- Times
select pg_temp.late() as a \gset
select from bpm.suspend_process(pg_temp.process(:'a'));
select pg_temp.late() as b \gset
select from bpm.advance_clock('3 seconds');
select (k.done ->> 'decisions')::integer as did, k.positions as p from bpm.tick(p_positions => :'p') k \gset
select is(:did, 1, 'a time that is over in a suspended instance keeps no other waiting');
select is((:'p'::jsonb -> 'decisions' ->> 'reached_at')::timestamptz < (select a.due_at from bpm_core.approval_record a where a.workflow_instance_id = :'a'), true, 'the position stays before it');
select from bpm.resume_process(pg_temp.process(:'a'));
select (k.done ->> 'decisions')::integer as did, k.positions as p from bpm.tick(p_positions => :'p') k \gset
select is(:did, 1, 'so that the first tick after it was resumed has it');
select is((select string_agg(a.status || '/' || a.effect, ' ') from bpm_core.approval_record a where a.workflow_instance_id in (:'a', :'b')), 'Expired/Applied Expired/Applied', 'both expired, in effect');
select from bpm.advance_clock('5 seconds');
select k.positions as p from bpm.tick(p_positions => :'p') k \gset
select is((:'p'::jsonb -> 'decisions' ->> 'reached_at')::timestamptz > (select max(a.due_at) from bpm_core.approval_record a where a.status = 'Expired'), true, 'and the position has moved on');

-- Two of one instance
select pg_temp.decided() as a \gset
insert into bpm_core.approval_record (tenant_id, id, workflow_instance_id, node_id, token_id, visit, task_type, status, decided_by, decided_at, created_at)
select a.tenant_id, bpm_core.new_id(), a.workflow_instance_id, a.node_id, a.token_id, a.visit - 1, a.task_type, 'Approved', 'ann', a.decided_at + interval '1 microsecond', a.created_at
  from bpm_core.approval_record a where a.workflow_instance_id = :'a';
select (k.done ->> 'approvals')::integer as did, k.positions as p from bpm.tick(p_positions => :'p') k \gset
select is(:did, 1, 'of one instance one takes effect at a time');
select (k.done ->> 'approvals')::integer as did, k.positions as p from bpm.tick(p_positions => :'p') k \gset
select is(:did, 1, 'and the next tick has the other');
select * from finish();
rollback;
