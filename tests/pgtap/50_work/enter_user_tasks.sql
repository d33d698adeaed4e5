-- A user task names its person outright or by a path into the variables, read when the task is entered.
begin;
select plan(8);
select test.deploy('desk', '<userTask id="plain" bpm:assignee="ann"/><userTask id="path" bpm:assignee="${owner.name}" bpm:candidateGroups="sales, legal"/><endEvent id="end"/>'
  || test.flows('start>plain', 'plain>path', 'path>end')) \gset
select is((select c.code from bpm.check_bpmn(bpm.get_bpmn('desk')) c), null, 'nothing to warn of');
select test.start('desk', '{"owner": {"name": "bob"}}') as d \gset
select is((select t.assignee || ' ' || t.task_type from bpm.task t where t.process_instance_id = :'d'), 'ann bpm:user', 'by name');
select c.outcome from bpm.task t cross join lateral bpm.complete_user_task(t.task_id, '{}', 'ann') c where t.process_instance_id = :'d' \g /dev/null
select is((select t.assignee from bpm.task t where t.process_instance_id = :'d' and t.node_id = 'path'), 'bob', 'by path');
select is((select t.candidate_groups from bpm.task t where t.process_instance_id = :'d' and t.node_id = 'path'), '{sales,legal}', 'groups as drawn');
select test.start('desk', '{"owner": "nobody with a name"}') as e \gset
select c.outcome from bpm.task t cross join lateral bpm.complete_user_task(t.task_id, '{}', 'ann') c where t.process_instance_id = :'e' \g /dev/null
select is((select t.assignee from bpm.task t where t.process_instance_id = :'e' and t.node_id = 'path'), null, 'a path that leads nowhere: unassigned, for anyone to claim');
select is((select c.outcome::text from bpm.task t cross join lateral bpm.claim_user_task(t.task_id, 'eve') c where t.process_instance_id = :'e' and t.node_id = 'path'), 'Done', 'who takes it');
select is((select c.code from bpm.check_bpmn(replace(bpm.get_bpmn('desk'), '${owner.name}', '${people.find(a)}')) c), 'ExpressionIgnored', 'an expression that is not understood is warned of');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
