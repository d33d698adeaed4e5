-- bpm.claim_user_task and bpm.unclaim_user_task: one owner (C28).
begin;
select plan(27);
select test.deploy('ask', '<userTask id="look" bpm:candidateGroups="clerks, managers"/><userTask id="sign" bpm:assignee="dan"/>' || test.service('job') || '<parallelGateway id="fork"/><endEvent id="end"/>'
  || test.flows('start>fork', 'fork>look', 'fork>sign', 'fork>job', 'look>end', 'sign>end', 'job>end')) \gset
select test.start('ask') as a \gset
select t.task_id as look, t.assignee is null as free, t.candidate_groups as groups from bpm.task t where t.node_id = 'look' \gset
select t.task_id as sign, t.assignee as signer from bpm.task t where t.node_id = 'sign' \gset
select is(:'free' || :'groups', 't{clerks,managers}', 'a task without assignee belongs to nobody, and to its groups');
select is(:'signer'::text, 'dan', 'one with an assignee to them');

-- Claiming
select c.* from bpm.claim_user_task(:'look', 'ann') c \gset c_
select is(:'c_task_id' || :'c_outcome' || :'c_assignee', :'look' || 'Doneann', 'the first takes it');
select is((select t.assignee || ' ' || t.state || ' ' || t.attempt from bpm.task t where t.task_id = :'look'), 'ann Ready 0', 'its row says so');
select is((select array_agg(e.actor || ' ' || e.action) from bpm_core.audit_event e where e.aggregate_id = :'look'), '{"ann ClaimUserTask"}', 'it is audited');
select is(kit.raised(format('select * from bpm.claim_user_task(%L, ''bob'')', :'look')) - 'message' - 'hint', '{"code": "BP409", "detail": {"claimed_by": "ann"}}'::jsonb, 'the second is told by whom it is claimed');
select is((select c.assignee from bpm.claim_user_task(:'look', 'ann') c), 'ann', 'claiming one''s own again changes nothing');
select is((select count(*) from bpm_core.audit_event e where e.aggregate_id = :'look'), 1::bigint, 'and is no second act');
select throws_ok(format('select * from bpm.claim_user_task(%L, ''bob'')', :'sign'), 'BP409', null, 'one that was assigned from the start is taken');
select is((select c.assignee from bpm.claim_user_task(:'sign', 'dan') c), 'dan', 'by its assignee only');

-- Giving back
select throws_ok(format('select * from bpm.unclaim_user_task(%L, ''bob'')', :'look'), 'BP409', null, 'what is somebody else''s cannot be given back');
select concat(u.task_id, u.outcome, coalesce(u.assignee, ' nobody')) as given from bpm.unclaim_user_task(:'look', 'ann') u \gset
select is(:'given', :'look' || 'Done nobody', 'given back');
select is((select t.assignee from bpm.task t where t.task_id = :'look'), null, 'it belongs to nobody');
select is((select u.outcome::text from bpm.unclaim_user_task(:'look', 'bob') u), 'Done', 'what is nobody''s is given back already');
select is((select array_agg(e.actor || ' ' || e.action order by e.id) from bpm_core.audit_event e where e.aggregate_id = :'look'), '{"ann ClaimUserTask","ann UnclaimUserTask"}', 'both acts are audited');
select is((select c.assignee from bpm.claim_user_task(:'look', 'bob') c), 'bob', 'now another may take it');
select is((select c.assignee from bpm.unclaim_user_task(:'look', 'bob') u cross join lateral bpm.claim_user_task(:'look') c), current_user::text, 'without an actor it is the caller''s role');

-- Refused
select throws_ok($$select * from bpm.claim_user_task('00000000-0000-7000-8000-000000000001')$$, 'BP404', null, 'a task that is not there');
select throws_ok($$select * from bpm.unclaim_user_task('00000000-0000-7000-8000-000000000001')$$, 'BP404', null, 'cannot be given back either');
select throws_ok($$select * from bpm.claim_user_task(null)$$, 'BP404', null, 'no task');
select throws_ok(format('select * from bpm.claim_user_task(%L)', t.task_id), 'BP404', null, 'a worker''s task') from bpm.task t where t.node_id = 'job';
select throws_ok(format('select * from bpm.claim_user_task(%L, repeat(''x'', 201))', :'look'), 'BP400', null, 'an over-long name');
select throws_ok(format('select * from bpm.claim_user_task(%L, p_tenant_id => ''nobody'')', :'look'), 'BP403', null, 'a tenant that is not ours');
select throws_ok(format('select * from bpm.unclaim_user_task(%L, p_tenant_id => ''nobody'')', :'look'), 'BP403', null, 'nor its tasks');
select bpm.cancel_process(:'a') is not null as cancelled \gset
select is(kit.raised(format('select * from bpm.claim_user_task(%L)', :'sign')) - 'message' - 'hint', '{"code": "BP409", "detail": {"state": "Cancelled"}}'::jsonb, 'a closed one says how it stands');
select throws_ok(format('select * from bpm.unclaim_user_task(%L, ''dan'')', :'sign'), 'BP409', null, 'and cannot be given back');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
