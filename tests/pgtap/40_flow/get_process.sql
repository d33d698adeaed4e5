-- bpm.get_process, get_history, get_variables: one process, looked at from all sides.
begin;
select plan(37);

select test.deploy_everything();
select test.start('everything', '{"amount": 1200}', 'K') as p \gset
select test.workflow(:'p') as w \gset
create function pg_temp.g(variadic p_path text[]) returns jsonb language sql as $$
  select bpm.get_process((select i.process_instance_id from bpm.instance i where i.business_key = 'K')) #> p_path $$;

select set_eq(format('select jsonb_object_keys(bpm.get_process(%L))', :'p'),
  array['instance', 'workflows', 'tokens', 'tasks', 'loops', 'scopes', 'timers', 'waits', 'incidents', 'dead_letters', 'approvals', 'commands', 'more'], 'everything has its list');
select is(pg_temp.g('instance') - '{created_at,updated_at,process_instance_id,workflow_instance_id,started_by}'::text[],
  '{"process_code": "everything", "process_version": 1, "business_key": "K", "status": "Running", "variables": {"amount": 1200},
    "ended_at": null, "live_tokens": 1, "open_incidents": 0}', 'the instance');
select is(pg_temp.g('tokens', '0') - '{token_id,since,workflow_instance_id}'::text[],
  '{"node_id": "reserve", "node_name": null, "element": "serviceTask", "state": "Waiting"}', 'its token');
select is(pg_temp.g('tasks', '0', 'state'), '"Ready"', 'its task');
select bpm.claim_tasks('w', '{reserve}');
select is(pg_temp.g('tasks', '0', 'worker_id'), '"w"', 'who has it');
select bpm.advance_clock('1 minute'); select bpm.run_until_idle();
select bpm.advance_clock('1 minute');
select test.fail_next('reserve');
select is(pg_temp.g('incidents', '0', 'code'), '"AttemptsExhausted"', 'its incident');
select is(pg_temp.g('dead_letters', '0', 'kind'), '"Task"', 'its dead letter');
select is(pg_temp.g('tasks', '0', 'state'), '"Failed"', 'the failed task, which can be revived');
select is(pg_temp.g('instance', 'open_incidents'), '1', 'counted');
select bpm.requeue_dead_letter((pg_temp.g('dead_letters', '0', 'dead_letter_id') #>> '{}')::uuid);
select is(pg_temp.g('incidents') || pg_temp.g('dead_letters'), '[]', 'resolved: not open any more');
select test.complete_next('reserve', '{"reserved": true}');
select is(pg_temp.g('approvals', '0', 'status'), '"Pending"', 'its approval');
select test.decide(:'p', 'Approved');
select is(pg_temp.g('approvals'), '[]', 'decided and applied: gone');
select test.complete_next('release-gated');
select is(pg_temp.g('commands', '0', 'state'), '"Pending"', 'its command');
select is(pg_temp.g('waits', '0') - '{subscription_id,token_id,since}'::text[],
  '{"node_id": "picked", "kind": "Message", "name": "picked-up", "correlation_key": "K"}', 'what it waits for');
select is(pg_temp.g('timers', '0', 'node_id'), '"slow"', 'its timer');
select is(jsonb_array_length(pg_temp.g('tokens')), 2, 'both tokens; those that ended are left out');
select is(pg_temp.g('more'), '[]', 'nothing is cut off');
select is(bpm_core.open_lists('', array[:'w'::uuid], 1) -> 'more', '["tokens"]', 'what is cut off is named');

-- Variables
select is(bpm.get_variables(:'p'), '{"amount": 1200, "reserved": true}', 'get_variables: start values and patches');
select bpm.set_variables(:'p', '{"amount": 5}');
select is(bpm.get_variables(:'p'), '{"amount": 5, "reserved": true}', 'the nearer wins');
select is((select i.variables from bpm.instance i where i.process_instance_id = :'p'), bpm.get_variables(:'p'), 'as in the view');

-- History
select is((select count(*) from bpm.get_history(:'p')), (select count(*) from bpm.history h where h.workflow_instance_id = :'w'), 'get_history: all of it');
select is((select array_agg(h.seq) from bpm.get_history(:'p') h), (select array_agg(h.seq order by h.seq) from bpm.get_history(:'p') h), 'oldest first');
select is((select h.kind from bpm.get_history(:'p', 1) h), 'InstanceStarted', 'page by page');
select is((select h.seq from bpm.get_history(:'p', 1, (select max(x.seq) from bpm.get_history(:'p', 3) x)) h),
          (select max(x.seq) from bpm.get_history(:'p', 4) x), 'from the last seq seen');
select is_empty(format('select * from bpm.get_history(%L, p_after_seq => 1000000000000)', :'p'), 'behind the end there is nothing');
select is((select h.detail ->> 'variables' from bpm.get_history(:'p') h where h.kind = 'TaskCompleted' limit 1), '{"reserved": true}', 'with its details');

-- Refusals
select throws_ok('select ' || x.call, x.code, null, x.call)
  from (values ('bpm.get_process(bpm_core.new_id())', 'BP404'), ('bpm.get_process(null)', 'BP404'), ('bpm.get_variables(bpm_core.new_id())', 'BP404'),
               ('bpm.get_history(bpm_core.new_id())', 'BP404'), ('bpm.get_process(bpm_core.new_id(), ''other'')', 'BP403'),
               ('bpm.get_variables(bpm_core.new_id(), p_tenant_id => ''other'')', 'BP403'), ('bpm.get_history(bpm_core.new_id(), p_tenant_id => ''other'')', 'BP403'),
               ('bpm.get_history(bpm_core.new_id(), 0)', 'BP422'), ('bpm.get_history(bpm_core.new_id(), 10001)', 'BP422'),
               ('bpm.get_history(bpm_core.new_id(), null)', 'BP422')) x(call, code);

select * from finish();
rollback;
