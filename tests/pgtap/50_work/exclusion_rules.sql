-- Who may not do a user task: by name, the requester, earlier actors.
begin;
select plan(27);

create function pg_temp.task(p_process uuid, p_node text) returns uuid language sql as $$ select t.task_id from bpm.task t where t.process_instance_id = p_process and t.node_id = p_node and t.state = 'Ready' $$;
create function pg_temp.tried(p_call text, p_process uuid, p_node text, p_actor text) returns jsonb language sql as $$
  select kit.raised(format('select * from bpm.%s(%L, p_actor => %L)', p_call, pg_temp.task(p_process, p_node), p_actor))
$$;
select lives_ok($$select * from bpm.publish_task('draft', p_executor_kind => 'Human')$$, 'a task anybody may do');
select lives_ok($$select * from bpm.publish_task('check', p_executor_kind => 'Human', p_exclusion_rule => '{"requester": true, "earlier_actors": ["first"], "actors": ["mallory"]}')$$, 'one that some may not');
select lives_ok($$select * from bpm.publish_task('sign', p_executor_kind => 'Human', p_exclusion_rule => '{"earlier_actors": true}')$$, 'one for who did nothing before');
select test.deploy('d', '<userTask id="first" bpm:type="draft"/><userTask id="second"/><userTask id="third" bpm:type="check"/><userTask id="fourth" bpm:type="sign"/><endEvent id="end"/>'
  || test.flows('start>first', 'first>second', 'second>third', 'third>fourth', 'fourth>end')) \gset
select s.process_instance_id as p from bpm.start_process('d', p_actor => 'rita') s \gset
select is((select array_agg(concat_ws(' ', b.node_id, d.code) order by b.node_id) from bpm_core.workflow_task_binding b join bpm_core.task_version v on v.id = b.task_version_id join bpm_core.task_definition d on d.id = v.definition_id),
  '{"first draft","fourth sign","second bpm:user","third check"}', 'pinned by bpm:type');
select is(pg_temp.tried('complete_user_task', :'p', 'first', 'ann'), null, 'ann does the first');
select is(pg_temp.tried('complete_user_task', :'p', 'second', 'bob'), null, 'bob the second');
select is(pg_temp.tried('claim_user_task', :'p', 'third', 'ann') - 'detail', jsonb_build_object('code', 'BP403', 'message', format('ann may not do user task %s: excluded as one who did an earlier task of it.', pg_temp.task(:'p', 'third')), 'hint', 'Somebody else has to.'), 'BP403 ann did the first');
select is(pg_temp.tried('claim_user_task', :'p', 'third', 'ann') #> '{detail,rule}', '"earlier_actors"', 'with the rule');
select is(pg_temp.tried('claim_user_task', :'p', 'third', 'rita') #> '{detail,rule}', '"requester"', 'BP403 rita started it');
select is(pg_temp.tried('claim_user_task', :'p', 'third', 'mallory') #> '{detail,rule}', '"actors"', 'BP403 mallory is named');
select is(pg_temp.tried('complete_user_task', :'p', 'third', 'mallory') #> '{detail,rule}', '"actors"', 'nor complete it unclaimed');
select is(kit.raised(format('select * from bpm.throw_user_task_error(%L, ''E'', p_actor => ''mallory'')', pg_temp.task(:'p', 'third'))) ->> 'code', 'BP403', 'nor end it with an error');
select is((select t.assignee from bpm.task t where t.task_id = pg_temp.task(:'p', 'third')), null, 'it stays unclaimed');
select is(pg_temp.tried('claim_user_task', :'p', 'third', 'bob'), null, 'bob did another, which does not matter here');
select is(pg_temp.tried('complete_user_task', :'p', 'third', 'bob'), null, 'and completes it');
select is(pg_temp.tried('complete_user_task', :'p', 'fourth', 'bob') #> '{detail,rule}', '"earlier_actors"', 'BP403 for the last who did anything');
select is(pg_temp.tried('complete_user_task', :'p', 'fourth', 'rita'), null, 'rita only started it');
select is(test.status(:'p'), 'Completed', 'done');
select is((select count(*)::integer from bpm_core.audit_event a where a.actor = 'mallory'), 0, 'nothing is recorded of who was refused');
select is(test.broken(), '{}', 'invariants hold');

select throws_like($$select test.deploy('x', '<userTask id="u" bpm:type="nobody"/><endEvent id="end"/>' || test.flows('start>u', 'u>end'))$$, '%not published for people%', 'a task that is not there');
select is((select count(*)::integer from bpm.publish_task('machine')), 1, 'a task for machines');
select throws_like($$select test.deploy('x', '<userTask id="u" bpm:type="machine"/><endEvent id="end"/>' || test.flows('start>u', 'u>end'))$$, '%not published for people%', 'is none for people');
select throws_ok(x.call, 'BP422', null, 'BP422 ' || x.call)
  from (values ($$select * from bpm.publish_task('r', p_exclusion_rule => '{"requester": true}')$$), ($$select * from bpm.publish_task('r', p_executor_kind => 'Human', p_exclusion_rule => '{"requestor": true}')$$),
    ($$select * from bpm.publish_task('r', p_executor_kind => 'Human', p_exclusion_rule => '{"actors": "ann"}')$$), ($$select * from bpm.publish_task('r', p_executor_kind => 'Human', p_exclusion_rule => '{}')$$)) x(call);

select * from finish();
rollback;
