-- bpm.restart_process: a new instance in place of one that failed or was cancelled.
begin;
select plan(27);
select test.deploy_everything() \gset
select test.start('everything', '{"amount": 5}', 'R-1') as a \gset
select test.complete_next('reserve', '{"shelf": 7, "note": "first"}') as done \gset
select max(h.seq) as here from bpm.get_history(:'a') h where h.kind = 'TaskCompleted' \gset
select bpm.set_variables(:'a', '{"note": "second"}') is not null as set \gset
select throws_ok(format('select * from bpm.restart_process(%L)', :'a'), 'BP409', null, 'not one that runs');
select bpm.cancel_process(:'a') is not null as cancelled \gset

-- From the beginning, with what it knew
select r.* from bpm.restart_process(:'a', p_reason => 'cancelled by mistake', p_actor => 'ann', p_idempotency_key => 'again') r \gset r_
select is(concat_ws(' ', :'r_status', :'r_is_new', :'r_process_instance_id' <> :'a'), 'Running t t', 'a new instance');
select is(test.standing(:'r_process_instance_id'), '{"reserve Waiting"}', 'at its beginning');
select is(bpm.get_variables(:'r_process_instance_id'), '{"amount": 5, "shelf": 7, "note": "second"}'::jsonb, 'with the values it began with and the variables it had');
select is((select concat_ws(' ', i.business_key, i.process_version, i.started_by) from bpm.instance i where i.process_instance_id = :'r_process_instance_id'), 'R-1 1 ann', 'under the same key, in the same version');
select is(test.status(:'a'), 'Cancelled', 'the old one stays as it is');
select is((select concat_ws(' ', e.actor, e.reason, e.detail ->> 'restart_of' = :'a') from bpm_core.audit_event e where e.action = 'RestartProcess'), 'ann cancelled by mistake t', 'it is audited');
select is((select h.detail ->> 'restart_of' from bpm.get_history(:'r_process_instance_id') h where h.kind = 'InstanceStarted'), :'a', 'history says whose place it takes');
select is(test.broken(), '{}', 'invariants hold, replay of variables among them');
select is((select concat_ws(' ', r.process_instance_id = :'r_process_instance_id', r.workflow_instance_id = :'r_workflow_instance_id', r.is_new) from bpm.restart_process(:'a', p_idempotency_key => 'again') r), 't t f', 'the same key: the first answer');
select throws_ok(format('select * from bpm.restart_process(%L, ''merge'', p_idempotency_key => ''again'')', :'a'), 'BP409', null, 'the same key for something else');
select throws_ok($$select * from bpm.start_process('everything', p_idempotency_key => 'again')$$, 'BP409', null, 'for a start as well');
select is((select count(*) from bpm.instance i where i.business_key = 'R-1'), 2::bigint, 'there are two');

-- At a chosen point, with the variables of a chosen moment
select r.process_instance_id as b from bpm.restart_process(:'a', 'merge', :here) r \gset
select is(test.standing(:'b'), '{"charge Waiting","picked Waiting"}', 'at the node named');
select is(bpm.get_variables(:'b') ->> 'note', 'first', 'with the variables as they were then');
select is((test.history(:'b'))[ : 4]::text, '{"InstanceStarted 1","VariablesSet 1","TokenPlaced 1","TokenResumed 1"}', 'as history tells');
select is(test.broken(), '{}', 'invariants hold with a token placed');

-- One that failed
select test.start('everything', '{"amount": 5000}', 'R-2') as c \gset
select test.complete_next('reserve') is not null as done from generate_series(1, 1) \gset
select kit.deploy_gated('gated', false) \gset
select test.start('gated') as d \gset
select test.decide(:'d', 'Rejected') as done \gset
select is(test.status(:'d'), 'Failed', 'a rejection failed it');
select is((select r.status from bpm.restart_process(:'d') r), 'Running', 'it is started again');
select is((select count(*) from bpm.approval a where a.status = 'Pending' and a.node_id = 'a'), 1::bigint, 'and asks again');

-- Refused
select throws_ok(format('select * from bpm.restart_process(%L, %s)', :'a', x.args), x.code, null, x.why)
  from (values ('''nowhere''', 'BP422', 'a node that is not there'), ('''join''', 'BP422', 'a join'), ('''start''', 'BP422', 'the start event by name'),
               ('null, p_idempotency_key => ''''', 'BP422', 'an empty key'), ('null, p_reason => repeat(''x'', 4001)', 'BP422', 'a reason too long')) x(args, code, why);
select throws_ok('select * from bpm.restart_process(null)', 'BP404', null, 'no instance');
select is(test.broken(), '{}', 'invariants hold at the end');
select * from finish();
rollback;
