-- Who a user task is with: listed, claimed, assigned, handed on and back; the token of a form; comments; dates.
begin;
select plan(77);
select from bpm.publish_task(p_task_type => 'check', p_executor_kind => 'Human', p_exclusion_rule => '{"requester": true, "delegates": true, "actors": ["eve"]}',
  p_result_schema => '{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}');
select kit.deploy('people',
  '<userTask id="a" name="Look" bpm:type="check" bpm:formKey="look-at-it" bpm:candidateGroups="clerks, chiefs" bpm:candidateUsers="zoe"/>
   <userTask id="b" bpm:type="check"/><endEvent id="end"/><sequenceFlow id="f1" sourceRef="a" targetRef="b"/><sequenceFlow id="f2" sourceRef="b" targetRef="end"/>');
create function pg_temp.task(p_instance uuid, p_node text default 'a') returns uuid language sql as $$
  select t.task_id from bpm.task t where t.workflow_instance_id = p_instance and t.node_id = p_node
$$;
create function pg_temp.listed(p_actor text, p_groups text[] default '{}') returns bigint language sql as $$ select count(*) from bpm.list_user_tasks(p_actor, p_groups) $$;
create function pg_temp.why(p_sql text) returns text language sql as $$ select (kit.raised(p_sql) ->> 'code') || coalesce(' ' || (kit.raised(p_sql) #>> '{detail,rule}'), '') $$;
select kit.start('people', '{"amount": 3}', 'P-1') as wi \gset
select pg_temp.task(:'wi') as id \gset

-- The list
select is(pg_temp.listed('ann'), 0::bigint, 'a task for groups is not for everybody');
select is(pg_temp.listed('ann', '{clerks}'), 1::bigint, 'but for who is in one');
select is(pg_temp.listed('ann', '{others}'), 0::bigint, 'not in any');
select is(pg_temp.listed('zoe'), 1::bigint, 'and for a candidate by name');
select is(pg_temp.listed('eve', '{clerks}'), 0::bigint, 'who is excluded does not see it');
select is((select l.business_key || ' ' || l.node_name || ' ' || l.fencing_token from bpm.list_user_tasks('zoe') l), 'P-1 Look 0', 'with what a list shows');
select is((select count(*) from bpm.list_user_tasks('zoe', p_after => :'id')), 0::bigint, 'the page after it is empty');

-- Claimed once (C28)
select is((select c.assignee || ' ' || c.fencing_token from bpm.claim_user_task(:'id', 'ann') c), 'ann 1', 'the first has it');
select is((select c.assignee || ' ' || c.fencing_token from bpm.claim_user_task(:'id', 'ann') c), 'ann 1', 'again by the same person changes nothing');
select is(kit.raised(format('select from bpm.claim_user_task(%L, ''bob'')', :'id')) #>> '{detail,claimed_by}', 'ann', 'the second hears who has it');
select is((select count(*) from bpm_core.audit_event e where e.action = 'ClaimUserTask'), 1::bigint, 'audited once');
select is(pg_temp.listed('ann'), 1::bigint, 'it is hers');
select is(pg_temp.listed('zoe'), 0::bigint, 'and nobody else''s');

-- A form and its token
select is((select f.t #>> '{form,key}' from (select bpm.get_user_task(:'id') as t) f), 'look-at-it', 'the form');
select is((select f.t #>> '{form,schema,required,0}' from (select bpm.get_user_task(:'id') as t) f), 'ok', 'and the schema of the answer');
select is((select f.t -> 'variables' from (select bpm.get_user_task(:'id') as t) f), '{"amount": 3}', 'with the variables');
select is((select f.t ->> 'fencing_token' from (select bpm.get_user_task(:'id') as t) f), '1', 'and the token to answer under');
select is((select u.assignee from bpm.assign_user_task(:'id', 'bob', 'ann is ill', 'boss') u), 'bob', 'the boss gives it to somebody else');
select is((select u.fencing_token from bpm.assign_user_task(:'id', 'bob', null, 'boss') u), 2::bigint, 'twice is once');
select is((select e.actor || ' ' || e.reason || ' ' || (e.detail ->> 'from') || ' ' || (e.detail ->> 'to') from bpm_core.audit_event e where e.action = 'AssignUserTask'),
          'boss ann is ill ann bob', 'audited with the reason');
select is((select h.actor || ' ' || (h.detail ->> 'to') from bpm_core.history_event h where h.kind = 'TaskReassigned'), 'boss bob', 'history knows');
select is(pg_temp.why(format('select from bpm.complete_user_task(%L, ''{"ok": true}'', ''bob'', p_fencing_token => 1)', :'id')), 'BP409', 'a stale form is refused');
select is(kit.raised(format('select from bpm.complete_user_task(%L, ''{"ok": true}'', ''bob'', p_fencing_token => 1)', :'id')) #>> '{detail,assignee}', 'bob', 'with the newer state');
select is(kit.raised(format('select from bpm.complete_user_task(%L, ''{"ok": true}'', ''bob'', p_fencing_token => 1)', :'id')) #>> '{detail,fencing_token}', '2', 'and the newer token');
select is(pg_temp.why(format('select from bpm.assign_user_task(%L, ''eve'')', :'id')), 'BP403 actors', 'nobody can be given what they may not do');
select is(pg_temp.why(format('select from bpm.assign_user_task(%L, ''  '')', :'id')), 'BP422', 'nor can a blank');
select is(pg_temp.why(format('select from bpm.assign_user_task(%L, ''x'', repeat(''x'', 4001))', :'id')), 'BP422', 'a reason that is too long');

-- Handed on and back
select is(pg_temp.why(format('select from bpm.delegate_user_task(%L, ''cid'', null, ''ann'')', :'id')), 'BP409', 'only who holds it hands it on');
select is(pg_temp.why(format('select from bpm.delegate_user_task(%L, ''bob'', null, ''bob'')', :'id')), 'BP422', 'not to oneself');
select is(pg_temp.why(format('select from bpm.delegate_user_task(%L, null, null, ''bob'')', :'id')), 'BP422', 'nor to nobody');
select is(pg_temp.why(format('select from bpm.delegate_user_task(%L, ''eve'', null, ''bob'')', :'id')), 'BP403 actors', 'nor to who is excluded');
select is((select d.assignee || ' ' || d.owner || ' ' || d.fencing_token from bpm.delegate_user_task(:'id', 'cid', 'knows it', 'bob') d), 'cid bob 3', 'bob asks cid');
select is((select d.fencing_token from bpm.delegate_user_task(:'id', 'cid', null, 'bob') d), 3::bigint, 'twice is once');
select is((select t.delegation from bpm.task t where t.task_id = :'id'), 'Pending', 'it is to come back');
select is(pg_temp.why(format('select from bpm.complete_user_task(%L, ''{"ok": true}'', ''cid'')', :'id')), 'BP409', 'cid does not answer it');
select is(pg_temp.why(format('select from bpm.complete_user_task(%L, ''{"ok": true}'', ''bob'')', :'id')), 'BP409', 'nor does bob, while cid has it');
select is(pg_temp.why(format('select from bpm.throw_user_task_error(%L, ''x'', p_actor => ''cid'')', :'id')), 'BP409', 'nor does an error');
select is(pg_temp.why(format('select from bpm.unclaim_user_task(%L, ''cid'')', :'id')), 'BP409', 'nor does cid drop it');
select is(pg_temp.why(format('select from bpm.delegate_user_task(%L, ''bob'', null, ''cid'')', :'id')), 'BP422', 'nor hand it on to whom it is from');
select is((select d.assignee || ' ' || d.owner from bpm.delegate_user_task(:'id', 'dan', null, 'cid') d), 'dan bob', 'but on to a third: it stays bob''s');
select is(pg_temp.why(format('select from bpm.resolve_user_task(%L, null, ''cid'')', :'id')), 'BP409', 'whom it is not with cannot hand it back');
select is((select r.assignee || ' ' || r.fencing_token from bpm.resolve_user_task(:'id', 'looks good', 'dan') r), 'bob 5', 'it comes back to bob');
select is(pg_temp.why(format('select from bpm.resolve_user_task(%L, null, ''bob'')', :'id')), 'BP409', 'once');
select is((select t.owner || ' ' || t.delegation || ' ' || t.delegates::text from bpm.task t where t.task_id = :'id'), 'bob Resolved {cid,dan}', 'who had it is kept');
select is((select c.author || ': ' || c.said from bpm.task_comment c), 'dan: looks good', 'what dan found is a comment');
select is(kit.history(:'wi', 'TaskReassigned'), 'TaskReassigned TaskReassigned TaskReassigned TaskReassigned', 'history has every hand');

-- Comments
select is((select c.is_new from bpm.comment_user_task(:'id', 'mind the amount', 'k1', 'ann') c), true, 'a comment');
select is((select c.is_new from bpm.comment_user_task(:'id', 'mind the amount', 'k1', 'ann') c), false, 'is written once per key');
select is(pg_temp.why(format('select from bpm.comment_user_task(%L, ''another'', ''k1'', ''ann'')', :'id')), 'BP409', 'which is for one comment');
select is(pg_temp.why(format('select from bpm.comment_user_task(%L, '' '')', :'id')), 'BP422', 'nothing is no comment');
select is(pg_temp.why(format('select from bpm.comment_user_task(%L, repeat(''x'', 4001))', :'id')), 'BP422', 'nor is a novel');
select is(pg_temp.why(format('select from bpm.comment_user_task(%L, ''x'')', bpm_core.new_id())), 'BP404', 'of a task that is not there');
select is((select jsonb_path_query_array(bpm.get_user_task(:'id'), '$.comments[*].author')), '["dan", "ann"]', 'the form shows them in their order');

-- Dates
select is((select s.priority_level::text || ' ' || (s.due_at = '2030-01-31T12:00Z') from bpm.set_user_task(:'id', '{"due_at": "2030-01-31T12:00Z", "priority": "high"}') s), '0 true', 'due, and urgent');
select is((select s.priority_level::text || ' ' || (s.due_at is not null) || ' ' || (s.follow_up_at is not null)
             from bpm.set_user_task(:'id', '{"follow_up_at": "2030-01-31T12:00Z"}') s), '0 true true', 'what is not named stays');
select is((select s.due_at from bpm.set_user_task(:'id', '{"due_at": null}') s), null, 'null clears');
select is(pg_temp.listed('bob'), 1::bigint, 'who has it sees it whatever it is to be looked at');
select is(pg_temp.why(format('select from bpm.set_user_task(%L, ''{"due_at": "soon"}'')', :'id')), 'BP422', 'no time');
select is(pg_temp.why(format('select from bpm.set_user_task(%L, ''{"priority": "urgent"}'')', :'id')), 'BP422', 'no priority');
select is(pg_temp.why(format('select from bpm.set_user_task(%L, ''{"assignee": "x"}'')', :'id')), 'BP422', 'nothing else');
select is(pg_temp.why(format('select from bpm.set_user_task(%L, null)', :'id')), 'BP422', 'or nothing at all');

-- Given back, and later
select is((select u.fencing_token from bpm.unclaim_user_task(:'id', 'bob') u), 6::bigint, 'given back');
select is((select t.assignee is null and t.owner is null and t.delegation is null from bpm.task t where t.task_id = :'id'), true, 'to nobody');
select is(pg_temp.listed('zoe'), 0::bigint, 'what is to be looked at later is not for the taking yet');
select from bpm.set_user_task(:'id', '{"follow_up_at": null}');
select is(pg_temp.listed('zoe'), 1::bigint, 'now it is');

-- Answered, and who had a part in it
select is((select c.outcome::text from bpm.complete_user_task(:'id', '{"ok": true}', 'bob', p_fencing_token => 6) c), 'Completed', 'answered under the token');
select is((select c.outcome::text from bpm.complete_user_task(:'id', '{"ok": true}', 'bob', p_fencing_token => 6) c), 'Completed', 'and again, the same');
select pg_temp.task(:'wi', 'b') as id \gset
select is(pg_temp.why(format('select from bpm.claim_user_task(%L, ''cid'')', :'id')), 'BP403 delegates', 'whom the first one was handed on to may not do the second');
select is(pg_temp.listed('cid'), 0::bigint, 'nor sees it');
select is(pg_temp.why(format('select from bpm.claim_user_task(%L)', :'id')), 'BP403 requester', 'nor may who started it');
select is(pg_temp.listed('ann'), 1::bigint, 'a task without candidates is for everybody else');
select from bpm.suspend_process((select i.process_instance_id from bpm.instance i where i.workflow_instance_id = :'wi'));
select is(pg_temp.why(format('select from bpm.assign_user_task(%L, ''ann'')', :'id')), 'BP423', 'not while it is suspended');
select is(pg_temp.why(format('select from bpm.assign_user_task(%L, ''ann'')', bpm_core.new_id())), 'BP404', 'nor what is not there');
select is(pg_temp.why('select bpm.get_user_task(bpm_core.new_id())'), 'BP404', 'which cannot be shown either');
select is(pg_temp.why('select from bpm.list_user_tasks(p_limit => 0)'), 'BP422', 'limit too small');
select is(pg_temp.why('select from bpm.list_user_tasks(p_tenant_id => ''nobody'')'), 'BP403', 'tenant not granted');
select is_empty('select * from bpm.check_invariants()', 'invariants hold');
select * from finish();
rollback;
