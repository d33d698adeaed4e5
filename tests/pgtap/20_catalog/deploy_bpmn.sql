-- Versions, identity, pins, approval, several processes, and what a refused deploy leaves behind: nothing.
begin;
select plan(53);

create function pg_temp.deployed(p_xml text, p_name text default null) returns text language sql as $$
  select string_agg(d.code || ' ' || d.version || case when d.is_new then ' new' else '' end, ', ') from bpm.deploy_bpmn(p_xml, p_name) d
$$;
create function pg_temp.kind(p_code text, p_node text) returns text language sql as $$
  select n ->> 'kind' from bpm.get_definition(p_code) g cross join lateral jsonb_array_elements(g.graph -> 'nodes') n where n ->> 'node_id' = p_node
$$;
create function pg_temp.stored() returns bigint language sql as $$
  select (select count(*) from bpm_core.process_definition) + (select count(*) from bpm_core.process_version) + (select count(*) from bpm_core.workflow_version)
       + (select count(*) from bpm_core.task_version) + (select count(*) from bpm_core.audit_event)
$$;

-- versions
select is(pg_temp.deployed(test.linear('p', 'a')), 'p 1 new', 'the first version');
select is(pg_temp.deployed(test.linear('p', 'a')), 'p 1', 'the same file is the same version');
select is(pg_temp.deployed(test.linear('p', 'a', 'b')), 'p 2 new', 'another file is the next');
select is((select d.version from bpm.definition d where d.code = 'p' and d.is_current), 2, 'and the current one');
select is(pg_temp.deployed(test.linear('p', 'a')), 'p 1', 'an older file again is its older version');
select is((select d.version from bpm.definition d where d.code = 'p' and d.is_current), 1, 'which is current again');
select is((select w.published_version_id from bpm_core.workflow_definition w where w.code = 'p'),
  (select b.workflow_version_id from bpm_core.process_definition d join bpm_core.process_workflow_binding b on b.process_version_id = d.published_version_id where d.code = 'p'),
  'its workflow too');
select is(pg_temp.deployed(test.linear('p', 'c')), 'p 3 new', 'numbers go on from the last');
select is(pg_temp.deployed(test.linear('p', 'c') || E'\r\n'), 'p 3', 'space at the end of the file is no change');
select is(pg_temp.deployed(E'\n' || test.linear('p', 'c')), 'p 4 new', 'any other change of the file is a new version');
select is(pg_temp.deployed(E'\n' || test.linear('p', 'c'), 'Another name'), 'p 5 new', 'and so is another name');
select is((select d.name from bpm.definition d where d.code = 'p' and d.version = 5), 'Another name', 'which it carries');
update bpm_core.process_version v set status = 'Deprecated' where v.version = 2;
select is(pg_temp.deployed(test.linear('p', 'a', 'b')), 'p 6 new', 'a deprecated version does not come back');
update bpm_core.process_definition d set archived_at = bpm_core.now() where d.code = 'p';
select is(pg_temp.deployed(test.linear('p', 'a', 'b')), 'p 6', 'an archived process deployed again');
select is((select d.archived_at from bpm_core.process_definition d where d.code = 'p'), null, 'is archived no longer');

-- what is stored
select is((select count(*)::integer from bpm_core.workflow_version w where w.checksum <> sha256(convert_to(w.bpmn_xml, 'UTF8'))), 0, 'the checksum is that of the file');
select is(bpm.get_bpmn('p', 3), test.linear('p', 'c'), 'the file comes back as it came');
select is_empty($$
  select n.node_id from bpm_core.workflow_node n
  except select g.value ->> 'node_id' from bpm_core.workflow_version w cross join lateral jsonb_array_elements(w.graph -> 'nodes') g$$, 'the rows are those of the graph');
select is((select array_agg(f.source_id || '>' || f.target_id || ' ' || f.target_kind order by f.flow_id collate "C") from bpm_core.workflow_flow f join bpm_core.workflow_version w on w.id = f.workflow_version_id
    where w.version = 1), '{start>a ServiceTask,a>end EndEvent}', 'flows carry the kind of their target');
select is((select string_agg(distinct b.binding_key || b.position || b.depends_on::text, ',') from bpm_core.process_workflow_binding b), 'main1{}', 'one binding, main');
select is((select count(distinct d.code)::integer from bpm_core.workflow_version w join bpm_core.role_version r on r.id = w.owner_role_version_id join bpm_core.role_definition d on d.id = r.definition_id where d.code = 'default'), 1, 'owner role default');
select is((select array_agg(a.aggregate_version order by a.id) from bpm_core.audit_event a where a.action = 'DeployProcess' and a.aggregate_id = 'p'), '{1,2,1,3,4,5,6,6}',
  'audited when something changed, and only then');

-- faults: all of them in the answer, nothing in the tables
create temp table before as select pg_temp.stored() as n;
select throws_like($$select * from bpm.deploy_bpmn(replace(test.linear('q', 'x'), 'serviceTask', 'complexGateway'))$$, '%nothing was stored%complexGateway "x"%', 'a fault in the message');
select throws_ok($$select * from bpm.deploy_bpmn(replace(test.linear('q', 'x'), 'serviceTask', 'complexGateway'))$$, 'BP422', null, 'as BP422');
create function pg_temp.detail(p_xml text) returns jsonb language plpgsql as $$
declare v_detail text;
begin
  perform bpm.deploy_bpmn(p_xml);
  return null;
exception when sqlstate 'BP422' then
  get stacked diagnostics v_detail = pg_exception_detail;
  return v_detail::jsonb;
end $$;
select is(pg_temp.detail(replace(test.linear('q', 'x', 'y'), 'serviceTask', 'complexGateway')) #> '{faults,0}',
  '{"code": "UnsupportedElement", "message": "complexGateway \"x\" is not executed.", "node_id": "x", "flow_id": null, "line": 1, "hint": "See the table of elements in the documentation for what is executed."}',
  'the record of a fault');
select is((select array_agg(distinct f ->> 'node_id') from jsonb_array_elements(pg_temp.detail(replace(test.linear('q', 'x', 'y'), 'serviceTask', 'complexGateway')) -> 'faults') f), '{x,y}', 'all of them');
select is((pg_temp.detail(test.bpmn('q', (select string_agg(format('<complexGateway id="g%s"/>', i), '') from generate_series(1, 1500) i))) ->> 'count')::integer, 4502, 'their number');
select is(jsonb_array_length(pg_temp.detail(test.bpmn('q', (select string_agg(format('<complexGateway id="g%s"/>', i), '') from generate_series(1, 1500) i))) -> 'faults'), 1000, 'of very many the first thousand');
select is(pg_temp.stored(), (select b.n from before b), 'nothing was stored');
select throws_ok($$select * from bpm.deploy_bpmn(null)$$, 'BP400', null, 'BP400 no file');
select throws_ok($$select * from bpm.deploy_bpmn(test.linear('q', 'x'), '')$$, 'BP400', null, 'BP400 an empty name');
select throws_ok($$select * from bpm.deploy_bpmn(test.linear('q', 'x'), p_tenant_id => 'nobody')$$, 'BP403', null, 'BP403 unknown tenant');
select throws_ok($$select * from bpm.deploy_bpmn(test.linear('q', 'x'), p_tenant_id => null)$$, 'BP400', null, 'BP400 null tenant');

-- warnings come back with the version
select is((select d.warnings #>> '{0,code}' from bpm.deploy_bpmn(replace(test.linear('w', 'a'), ' isExecutable="true"', '')) d), 'ExecutableNotStated', 'warnings');
select throws_ok(format('select * from bpm.deploy_bpmn(%L, p_strict => true)', replace(test.linear('w', 'a'), '<startEvent id="start"/>',
  '<startEvent id="start"><extensionElements><c:executionListener xmlns:c="http://camunda.org/schema/1.0/bpmn"/></extensionElements></startEvent>')), 'BP422', null, 'strict');

-- pins
select is((select array_agg(d.code || v.version || v.executor_kind || v.max_attempts order by d.code) from bpm_core.task_version v join bpm_core.task_definition d on d.id = v.definition_id where v.task_type in ('a', 'b')),
  '{a1Service3,b1Service3}', 'task types that are new are published with the default policy');
select lives_ok($$select * from bpm.publish_task('pinned', p_max_attempts => 9, p_lease => '2 minutes')$$, 'a policy');
select is(pg_temp.deployed(test.bpmn('pin', '<startEvent id="s"/><serviceTask id="pinned"/><serviceTask id="own" bpm:type="pinned" bpm:retries="2" bpm:lease="PT5S" bpm:priority="low"/><endEvent id="e"/>'
    || test.flows('s>pinned', 'pinned>own', 'own>e'))), 'pin 1 new', 'a process of that type');
select is((select array_agg(concat_ws(' ', b.node_id, b.task_type, b.max_attempts, b.lease, b.priority_level) order by b.node_id) from bpm_core.workflow_task_binding b where b.node_id in ('pinned', 'own')),
  '{own pinned 2 00:00:05 2,pinned pinned 9 00:02:00 1}', 'takes it, unless the node says otherwise');
select lives_ok($$select * from bpm.publish_task('pinned', p_max_attempts => 4)$$, 'another policy');
select is((select b.max_attempts from bpm_core.workflow_task_binding b where b.node_id = 'pinned'), 9, 'leaves the version deployed before as it was');
select is(pg_temp.deployed(bpm.get_bpmn('pin')), 'pin 2 new', 'the same file again is pinned anew');
select is((select max(b.max_attempts) from bpm_core.workflow_task_binding b join bpm_core.workflow_version w on w.id = b.workflow_version_id where b.node_id = 'pinned' and w.version = 2), 4, 'to the new policy');

-- approval is fixed at deploy: by the drawing, by the task version, by the setting
select is(pg_temp.kind('pin', 'pinned'), 'ServiceTask', 'not gated');
select lives_ok($$select * from bpm.publish_task('pinned', p_approval_required => true)$$, 'a type that needs approval');
select is(pg_temp.deployed(bpm.get_bpmn('pin')) || ' ' || pg_temp.kind('pin', 'pinned'), 'pin 3 new ApprovalTask', 'is gated from the next deploy on');
insert into bpm_core.setting values ('engine.approval_required_task_types', '["gated-by-setting"]', bpm_core.now(), 'test');
select is(pg_temp.deployed(test.linear('gate', 'gated-by-setting')) || ' ' || pg_temp.kind('gate', 'gated-by-setting'), 'gate 1 new ApprovalTask', 'by the setting');
select throws_like($$select * from bpm.deploy_bpmn(replace(test.linear('gate', 'gated-by-setting'), 'serviceTask', 'sendTask'))$$, '%need approval%', 'a gated type that cannot be gated is refused');

-- several processes
select is(pg_temp.deployed(replace(test.linear('one', 'a'), '</definitions>', '<process id="two"><startEvent id="s2"/><endEvent id="e2"/>' || test.flows('s2>e2') || '</process><process id="box"/></definitions>')),
  'one 1 new, two 1 new', 'each executable process becomes one');
select is(pg_temp.deployed(replace(test.linear('three', 'a'), '</definitions>', '<process id="drawn" isExecutable="false"><startEvent id="s2"/></process></definitions>')),
  'three 1 new', 'one that is not, beside one that is, is only a picture');
select is(pg_temp.deployed(replace(test.linear('four', 'a'), 'isExecutable="true"', 'isExecutable="false"')), 'four 1 new', 'alone it is deployed');

-- tenants do not meet
select is((select count(*)::integer from bpm.create_tenant('Other', 'other')), 1, 'another tenant');
select is((select d.version from bpm.deploy_bpmn(test.linear('p', 'z'), p_tenant_id => 'other') d), 1, 'counts its own versions');

select * from finish();
rollback;
