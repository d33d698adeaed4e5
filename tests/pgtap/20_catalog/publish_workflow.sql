-- Workflows on their own: owners, pins, what is new, what is refused.
begin;
select plan(49);

create function pg_temp.published(p_code text, p_xml text, p_role text default 'default', p_tasks jsonb default '{}') returns text language sql as $$
  select p.code || ' ' || p.version || case when p.is_new then ' new' else '' end from bpm.publish_workflow(p_code, p_xml, p_owner_role => p_role, p_tasks => p_tasks) p
$$;
create function pg_temp.pin(p_code text, p_version integer, p_node text) returns text language sql as $$
  select d.code || v.version || ' ' || b.task_type || ' ' || b.max_attempts || ' ' || b.lease
    from bpm_core.workflow_definition w
    join bpm_core.workflow_version x on x.definition_id = w.id and x.version = p_version
    join bpm_core.workflow_task_binding b on b.workflow_version_id = x.id and b.node_id = p_node
    join bpm_core.task_version v on v.id = b.task_version_id
    join bpm_core.task_definition d on d.id = v.definition_id
   where w.code = p_code
$$;

select is(pg_temp.published('pick', test.linear('p', 'a')), 'pick 1 new', 'the first version');
select is(pg_temp.published(null, test.linear('p', 'a')), 'p 1 new', 'without a code that of the process');
select is(pg_temp.published('pick', test.linear('p', 'a') || E'\n'), 'pick 1', 'the same is the same');
select is(pg_temp.published('pick', test.linear('p', 'a', 'b')), 'pick 2 new', 'another is the next');
select is(pg_temp.published('pick', test.linear('p', 'a')), 'pick 1', 'an older one is that one again');
select is((select v.version from bpm_core.workflow_definition d join bpm_core.workflow_version v on v.id = d.published_version_id where d.code = 'pick'), 1, 'and the current one');
select is_empty($$select * from bpm.definition$$, 'nothing can be started by that');
select is((select array_agg(a.aggregate_version order by a.id) from bpm_core.audit_event a where a.action = 'PublishWorkflow' and a.aggregate_id = 'pick'), '{1,2,1}', 'audited when something moved');

-- the owner
select throws_ok($$select pg_temp.published('pick', test.linear('p', 'a'), 'clerk')$$, 'BP422', null, 'BP422 an unknown owner');
select is((select count(*)::integer from bpm.publish_role('clerk')), 1, 'a role');
select is(pg_temp.published('pick', test.linear('p', 'a'), 'clerk'), 'pick 3 new', 'another owner is another version');
select is((select count(*)::integer from bpm.publish_role('clerk', '{"policy": {"new": true}}')), 1, 'a new version of the role');
select is((select r.version from bpm_core.workflow_version w join bpm_core.workflow_definition d on d.id = w.definition_id join bpm_core.role_version r on r.id = w.owner_role_version_id
    where d.code = 'pick' and w.version = 3), 1, 'leaves the workflow with the old one');
select is(pg_temp.published('pick', test.linear('p', 'a'), 'clerk'), 'pick 4 new', 'until it is published again');
update bpm_core.role_definition d set archived_at = bpm_core.now() where d.code = 'clerk';
select throws_ok($$select pg_temp.published('pick', test.linear('p', 'a'), 'clerk')$$, 'BP422', 'There is no role ''clerk'' that a workflow could be owned by: it is archived.', 'BP422 an archived owner');

-- the owner a file names
select is((select count(*)::integer from bpm.publish_role('boss')), 1, 'another role');
select is(pg_temp.published('owned', replace(test.linear('p', 'a'), '<process id="p"', '<process id="p" bpm:owner="boss"'), null), 'owned 1 new', 'the file names it');
select is((select w.owner_role from bpm.workflow_version w where w.code = 'owned'), 'boss', 'it owns the workflow');
select is(pg_temp.published('owned', replace(test.linear('p', 'a'), '<process id="p"', '<process id="p" bpm:owner="boss"'), 'default'), 'owned 2 new', 'unless the call names another');
select is((select count(*)::integer from bpm.deploy_bpmn(replace(test.linear('owned-too', 'a'), '<process id="owned-too"', '<process id="owned-too" bpm:owner="boss"'))), 1, 'deployed');
select is((select w.owner_role from bpm.workflow_version w where w.code = 'owned-too'), 'boss', 'it owns that, too');
select is((select c.code || ': ' || c.message from bpm.check_bpmn(replace(test.linear('p', 'a'), '<process id="p"', '<process id="p" bpm:owner="nobody"')) c), 'UnknownReference: Process "p" is owned by the role nobody, which is not published.', 'one that is not there is a fault');

-- pins
select is((select count(*)::integer from bpm.publish_task('a', p_max_attempts => 7, p_lease => '2 minutes')), 1, 'another policy for a');
select is((select count(*)::integer from bpm.publish_task('special', 'a', p_max_attempts => 9)), 1, 'and another task of its type');
select is((select count(*)::integer from bpm.publish_task('check-by-hand', p_executor_kind => 'Human')), 1, 'and one for people');
select is((select count(*)::integer from bpm.publish_task('gated', 'b', p_approval_required => true)), 1, 'and one that needs approval');
select is((select count(*)::integer from bpm.publish_task('gated', 'b')), 1, 'but does so no longer');
select is(pg_temp.published('pins', test.linear('p', 'a', 'b')) || ' ' || pg_temp.pin('pins', 1, 'a'), 'pins 1 new a2 a 7 00:02:00', 'without pins the published one of the type');
select is(pg_temp.published('pins', test.linear('p', 'a', 'b'), p_tasks => '{"a": "special"}') || ' ' || pg_temp.pin('pins', 2, 'a'), 'pins 2 new special1 a 9 00:00:30', 'another task');
select is(pg_temp.published('pins', test.linear('p', 'a', 'b'), p_tasks => '{"a": {"task": "a", "version": 1}}') || ' ' || pg_temp.pin('pins', 3, 'a'), 'pins 3 new a1 a 3 00:00:30', 'another version');
select is(pg_temp.published('desk', replace(test.linear('p', 'u'), 'serviceTask id="u" bpm:type="u"', 'userTask id="u"'), p_tasks => '{"u": "check-by-hand"}') || ' ' || pg_temp.pin('desk', 1, 'u'),
  'desk 1 new check-by-hand1 bpm:user 3 00:00:30', 'a person''s task');
select is((select kit.raised($$select pg_temp.published('pins', test.linear('p', 'a', 'b'), p_tasks => '{"x": "a", "start": "a", "a": "nix", "b": "a"}')$$)) -> 'detail' -> 'faults', jsonb_build_array(
  jsonb_build_object('node_id', 'a', 'message', 'there is no task ''nix'''), jsonb_build_object('node_id', 'b', 'message', 'the task ''a'' is of type ''a'', the node of type ''b'''),
  jsonb_build_object('node_id', 'start', 'message', 'the node is no task'), jsonb_build_object('node_id', 'x', 'message', 'there is no such node')), 'BP422 pins that do not fit, all of them');
select throws_like($$select pg_temp.published('desk', replace(test.linear('p', 'u'), 'serviceTask id="u" bpm:type="u"', 'userTask id="u"'), p_tasks => '{"u": "a"}')$$, '%people do not execute%', 'BP422 a service for a person');
select throws_like($$select pg_temp.published('pins', test.linear('p', 'a', 'b'), p_tasks => '{"b": {"task": "gated", "version": 1}}')$$, '%needs approval%', 'BP422 approval that the node does not ask for');
update bpm_core.task_definition d set archived_at = bpm_core.now() where d.code in ('special', 'zed');
select throws_like($$select pg_temp.published('pins', test.linear('p', 'a', 'b'), p_tasks => '{"a": "special"}')$$, '%archived%', 'BP422 an archived task');
select is(pg_temp.published('zed', test.linear('p', 'z')), 'zed 1 new', 'a type that is new');
update bpm_core.task_definition d set archived_at = bpm_core.now() where d.code = 'z';
select is((select c.code from bpm.check_bpmn(test.linear('p', 'z')) c), 'ArchivedTask', 'an archived one is a fault');

-- one of several processes
select throws_ok(format('select * from bpm.publish_workflow(null, %L)', replace(test.linear('one', 'a'), '</definitions>', '<process id="two"><startEvent id="s2"/><endEvent id="e2"/>' || test.flows('s2>e2') || '</process></definitions>')),
  'BP422', 'The file holds 2 processes; a workflow is one of them.', 'BP422 which one?');
select results_eq(format('select p.code, p.version from bpm.publish_workflow(null, %L, %L)', replace(test.linear('one', 'a'), '</definitions>', '<process id="two"><startEvent id="s2"/><endEvent id="e2"/>' || test.flows('s2>e2') || '</process></definitions>'), 'two') || ' p',
  $$values ('two', 1)$$, 'that one');
select throws_ok($$select * from bpm.publish_workflow(null, test.linear('one', 'a'), 'three')$$, 'BP422', null, 'BP422 no such process');
select throws_ok($$select * from bpm.publish_workflow(null, replace(test.linear('p', 'x'), 'serviceTask', 'complexGateway'))$$, 'BP422', null, 'BP422 faults');

select throws_ok(x.call, x.code, null, x.code || ' ' || x.call)
  from (values
    ($$select * from bpm.publish_workflow('p', null)$$, 'BP400'), ($$select * from bpm.publish_workflow(' ', test.linear('p', 'a'))$$, 'BP400'), ($$select * from bpm.publish_workflow('p', test.linear('p', 'a'), p_name => ' ')$$, 'BP400'),
    ($$select * from bpm.publish_workflow('p', test.linear('p', 'a'), p_tasks => '[]')$$, 'BP400'), ($$select * from bpm.publish_workflow('p', test.linear('p', 'a'), p_tasks => '{"a": 1}')$$, 'BP400'),
    ($$select * from bpm.publish_workflow('p', test.linear('p', 'a'), p_tasks => '{"a": {"task": "a", "version": "x"}}')$$, 'BP400'),
    ($$select * from bpm.publish_workflow('p', test.linear('p', 'a'), p_tasks => '{"a": {"task": "a", "version": "1"}}')$$, 'BP400'),
    ($$select * from bpm.publish_workflow('p', test.linear('p', 'a'), p_tenant_id => 'nobody')$$, 'BP403')) x (call, code);

select * from finish();
rollback;
