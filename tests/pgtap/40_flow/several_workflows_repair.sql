-- People and processes of several workflows: starts that cannot be decided, cancelling, suspending, variables by hand, restarts, what cannot be applied; and
-- the invariants that watch over them.
begin;
select plan(66);
select test.single_steps('pick', 'pack', 'bill');
select test.several('order', '[{"key": "pick"}, {"key": "bill"}, {"key": "pack", "depends_on": ["pick", "bill"]}]');
select test.several('maybe', '[{"key": "pick"}, {"key": "pack", "depends_on": ["pick"], "condition": "${total > 10}"}, {"key": "bill", "depends_on": ["pack"]}]');
create function pg_temp.incident(p_process uuid) returns uuid language sql as $$
  select i.incident_id from bpm.incident i where i.process_instance_id = p_process and i.state = 'Open' $$;

-- A start that cannot be decided
select test.start('maybe', '{"total": "many"}') as p \gset
select test.complete_next('pick') as done \gset
select is(bpm.run_until_idle(), 1, 'its turn has come');
select is(test.workflows(:'p'), '{pick Completed,pack Running}', 'it neither begins nor is skipped');
select is((select i.code || ' ' || i.message from bpm.incident i where i.incident_id = pg_temp.incident(:'p')),
  'StartUndecidable Workflow pack: the condition ${total > 10} of its start cannot be decided.', 'an incident says why');
select is((select i.detail - 'seen' || jsonb_build_object('seen', i.detail #> '{seen,0,value}') from bpm.incident i where i.incident_id = pg_temp.incident(:'p')),
  '{"binding": "pack", "condition": "${total > 10}", "seen": "many"}', 'with what was seen');
select is((select i.open_incidents || ' ' || i.live_tokens from bpm.instance i where i.process_instance_id = :'p'), '1 0', 'counted at the process');
select is(test.broken(), '{}', 'invariants hold');
select pg_temp.incident(:'p') as first \gset
select bpm.resolve_incident(pg_temp.incident(:'p')) is not null as done \gset
select is((select count(*) || ' ' || count(*) filter (where i.incident_id <> :'first' and i.state = 'Open') from bpm.incident i where i.process_instance_id = :'p'), '2 1', 'nothing mended: a new one');
select is(bpm.set_variables(:'p', '{"total": 11}'), '{"total": 11}', 'variables of the process are set by hand');
select is(bpm.get_variables(:'p'), '{"total": 11}', 'and read');
select is((select a.detail from bpm_core.audit_event a where a.action = 'SetVariables'), '{"names": ["total"]}', 'which is audited');
select bpm.suspend_process(:'p') is not null as done \gset
select throws_ok(format('select bpm.resolve_incident(%L)', pg_temp.incident(:'p')), 'BP423', null, 'not while it is suspended');
select bpm.resume_process(:'p') is not null as done \gset
select bpm.resolve_incident(pg_temp.incident(:'p')) is not null as done \gset
select is(test.standing(:'p')::text || (select count(*) from bpm.task t where t.task_type = 'pack' and t.state = 'Ready'), '{"pack Waiting"}1', 'mended: it begins');
select is(test.broken(), '{}', 'invariants hold');
select test.complete_next('pack') as done \gset
select bpm.run_until_idle() as done \gset
select is(test.workflows(:'p'), '{pick Completed,pack Completed,bill Running}', 'and goes its way');
select bpm.cancel_process(:'p') is not null as done \gset
-- Mended so that it is false
select test.start('maybe') as p \gset
select test.complete_next('pick') as done \gset
select bpm.run_until_idle() as done \gset
select is(test.workflows(:'p'), '{pick Completed,pack Running}', 'a missing value cannot be ordered either');
select bpm.set_variables(:'p', '{"total": 1}') as done \gset
select bpm.resolve_incident(pg_temp.incident(:'p')) as done \gset
select is(test.workflows(:'p'), '{pick Completed,pack Skipped}', 'now it is skipped');
select is(test.broken(), '{}', 'invariants hold before its process has heard of it');
select is(bpm.run_until_idle(), 1, 'it hears of it');
select is(test.workflows(:'p'), '{pick Completed,pack Skipped,bill Running}', 'what depends on it begins');
select is(test.broken(), '{}', 'invariants hold');
select bpm.cancel_process(:'p') is not null as done \gset
-- Cancelled with one that has not begun
select test.start('maybe') as p \gset
select test.complete_next('pick') as done \gset
select bpm.run_until_idle() as done \gset
select is((select c.status from bpm.cancel_process(:'p') c), 'Cancelled', 'cancelled');
select is(test.workflows(:'p')::text || (select string_agg(distinct i.state, '') from bpm.incident i where i.process_instance_id = :'p'), '{"pick Completed","pack Cancelled"}Resolved',
  'with the one that could not begin');
select is(test.broken(), '{}', 'invariants hold');

-- Cancelling
select test.start('order') as p \gset
select test.complete_next('pick') as done \gset
select is((select c.status from bpm.cancel_process(:'p', 'no more') c), 'Cancelled', 'cancelled at once');
select is(test.workflows(:'p'), '{pick Completed,bill Cancelled}', 'with what runs in it');
select is((select count(*) from bpm.claim_tasks('w', '{bill}')), 0::bigint, 'and its tasks');
select is(bpm.run_until_idle(), 1, 'the end of a workflow that was under way');
select is(test.workflows(:'p')::text || bpm.get_variables(:'p')::text, '{"pick Completed","bill Cancelled"}{}', 'changes nothing any more');
select is((select h.from_state || h.to_state || h.actor from bpm.get_history(:'p') h where h.kind = 'ProcessEnded'), 'RunningCancelledpostgres', 'history tells who');
select is((select c.status from bpm.cancel_process(:'p') c), 'Cancelled', 'a second time nothing happens');
select is((select count(*) from bpm_core.audit_event a where a.action = 'CancelProcess' and a.aggregate_id = :'p'), 1::bigint, 'nor is it audited twice');
select throws_ok(format('select bpm.set_variables(%L, %L)', :'p', '{"a": 1}'), 'BP409', null, 'its variables stay as they are');
select is(test.broken(), '{}', 'invariants hold');

-- Suspending
select test.start('order') as p \gset
select test.complete_next('pick', '{"shelf": 1}'), test.complete_next('bill', '{"shelf": 2}') \g /dev/null
select is((select s.status from bpm.suspend_process(:'p') s), 'Suspended', 'suspended while all its workflows have ended');
select is(bpm.run_until_idle(), 2, 'what it would hear');
select is(test.workflows(:'p')::text || bpm.run_until_idle(), '{"pick Completed","bill Completed"}0', 'is set aside');
select is(test.broken(), '{}', 'invariants hold while it is suspended');
select is((select s.status from bpm.resume_process(:'p') s), 'Running', 'resumed');
select is(bpm.run_until_idle(), 2, 'it hears it now');
select is(test.workflows(:'p')::text || bpm.get_variables(:'p')::text, '{"pick Completed","bill Completed","pack Running"}{"shelf": 2}', 'in the order of the ends');
select bpm.suspend_process(:'p') is not null as done \gset
select is((select string_agg(w.status, ' ' order by w.position) from bpm.workflow w where w.process_instance_id = :'p'), 'Completed Completed Suspended', 'what runs is suspended with it');
select bpm.cancel_process(:'p') is not null as done \gset
select is(test.status(:'p') || test.broken()::text, 'Cancelled{}', 'and can be cancelled');
select test.start('order') as p \gset
select test.complete_next('pick') as done \gset
select bpm.suspend_process(:'p') is not null as done \gset
select bpm.run_until_idle() as done \gset
select bpm.cancel_process(:'p') is not null as done \gset
select is(bpm.run_until_idle() || test.broken()::text, '1{}', 'what was set aside goes with it');

-- What is seen
select test.start('order', '{"a": 1}') as p \gset
select test.complete_next('pick', '{"b": 2}') as done \gset
select is(bpm.get_variables(:'p', test.workflow_of(:'p', 'pick')), '{"a": 1, "b": 2}', 'variables as one of its workflows sees them');
select throws_ok(format('select bpm.get_variables(%L, bpm_core.new_id())', :'p'), 'BP404', null, 'not of another process');
select is((select jsonb_agg(x - '{created_at,ended_at,workflow_instance_id,start_condition,parent_token_id,depth,workflow_version}'::text[]) from jsonb_array_elements(bpm.get_process(:'p') -> 'workflows') x),
  '[{"binding_key": "pick", "workflow_code": "w_pick", "depends_on": [], "status": "Completed", "live_tokens": 0},
    {"binding_key": "bill", "workflow_code": "w_bill", "depends_on": [], "status": "Running", "live_tokens": 1},
    {"binding_key": "pack", "workflow_code": "w_pack", "depends_on": ["pick", "bill"], "status": null}]', 'get_process lists all workflows, those too that have not begun');
select is((select jsonb_agg(t.item ->> 'node_id') from jsonb_array_elements(bpm.get_process(:'p') -> 'tasks') t(item)), '["bill"]', 'and what is open in any of them');
select is(bpm.set_variables(:'p', '{"c": 3}', p_token_id => (select t.token_id from bpm.task t where t.process_instance_id = :'p' and t.state = 'Ready')), '{"a": 1, "c": 3}', 'those of one workflow by its token');
select is(bpm.get_variables(:'p'), '{"a": 1}', 'which others do not see before it ends');

-- Moving to another version, starting again
select throws_ok(format('select bpm.migrate_process(%L, 1)', :'p'), 'BP422', 'Process order runs several workflows; instances of such are not moved to another version.', 'no migration');
select throws_ok(format('select * from bpm.plan_migration(%L, 1)', :'p'), 'BP422', null, 'not even as a plan');
select bpm.run_until_idle() as done \gset
select bpm.cancel_process(:'p') is not null as done \gset
select r.process_instance_id as q, r.workflow_instance_id as w, r.is_new from bpm.restart_process(:'p', p_idempotency_key => 'again') r \gset
select is(test.workflows(:'q')::text || bpm.get_variables(:'q')::text, '{"pick Running","bill Running"}{"a": 1, "b": 2}', 'started again as a whole, with what the process had');
select is(:'w', test.workflow_of(:'q', 'pick'), 'the answer names the first');
select is((select r.process_instance_id::text || r.is_new from bpm.restart_process(:'p', p_idempotency_key => 'again') r), :'q' || 'false', 'repeated: the first answer');
select throws_ok(format('select bpm.restart_process(%L, %L)', :'p', 'pick'), 'BP422', null, 'not in the middle of one workflow');
select throws_ok(format('select bpm.restart_process(%L, p_upto => 1)', :'p'), 'BP422', null, 'nor as of an earlier row');
select is(test.broken(), '{}', 'invariants hold');

-- What cannot be applied ten times
select test.complete_next('pick') as done \gset
alter function bpm_core.pass_variables(text, bpm_core.inbox[], timestamptz) rename to pass_well;
create function bpm_core.pass_variables(p_tenant_id text, p_rows bpm_core.inbox[], p_now timestamptz) returns void language plpgsql as $$ begin raise 'broken'; end $$;
grant execute on function bpm_core.pass_variables(text, bpm_core.inbox[], timestamptz) to bpm_owner;
select is((select string_agg(c.done::text, '') from (select bpm.run_until_idle() as done, bpm.advance_clock('1 hour') from generate_series(1, 9)) c), '111111111', 'tried again and again');
select is((select i.attempts || i.last_error from bpm_core.inbox i where i.target_id = :'q'), '9broken (P0001)', 'not yet given up');
select is(test.broken(), '{}', 'invariants hold');
select is(bpm.run_until_idle(), 1, 'the tenth time');
drop function bpm_core.pass_variables(text, bpm_core.inbox[], timestamptz);
alter function bpm_core.pass_well(text, bpm_core.inbox[], timestamptz) rename to pass_variables;
select is((select i.code || ' ' || i.workflow_instance_id from bpm.incident i where i.incident_id = pg_temp.incident(:'q')), 'InboxPoisoned ' || test.workflow_of(:'q', 'pick'), 'an incident at the workflow that ended');
select is(test.broken(), '{}', 'invariants hold');
select bpm.resolve_incident(pg_temp.incident(:'q')) is not null as done \gset
select is(bpm.run_until_idle(), 1, 'resolved: tried again');
select test.complete_next('bill') as done \gset
select bpm.run_until_idle() as done \gset
select is(test.workflows(:'q'), '{pick Completed,bill Completed,pack Running}', 'and it goes on');
select test.complete_next('pack') as done \gset
select bpm.run_until_idle() as done \gset
select is(test.status(:'q') || test.broken()::text, 'Completed{}', 'to its end');
select * from finish();
rollback;
