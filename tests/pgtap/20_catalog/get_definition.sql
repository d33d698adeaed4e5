-- Looking at what is deployed.
begin;
select plan(20);

select lives_ok($$select * from bpm.deploy_bpmn(test.linear('p', 'a'))$$, 'version 1');
select lives_ok($$select * from bpm.deploy_bpmn(test.linear('p', 'a', 'b'))$$, 'version 2');

select results_eq($$select g.code, g.version, g.status, g.is_current from bpm.get_definition('p') g$$, $$values ('p', 2, 'Published', true)$$, 'without a number the current one');
select results_eq($$select g.version, g.is_current, jsonb_array_length(g.graph -> 'nodes'), jsonb_array_length(g.graph -> 'flows'), jsonb_array_length(g.graph -> 'tasks') from bpm.get_definition('p', 1) g$$,
  $$values (1, false, 3, 2, 1)$$, 'with one that one');
select is((select g.graph #>> '{tasks,0,task_type}' from bpm.get_definition('p', 1) g), 'a', 'tasks in the graph');
select is(bpm.get_bpmn('p'), test.linear('p', 'a', 'b'), 'the current file');
select is(bpm.get_bpmn('p', 1), test.linear('p', 'a'), 'an older one');
select results_eq($$select d.version, d.is_current, length(d.content_hash) from bpm.definition d where d.code = 'p' order by 1$$, $$values (1, false, 64), (2, true, 64)$$, 'the view');

select throws_ok($$select * from bpm.get_definition('q')$$, 'BP404', 'There is no process ''q''.', 'BP404 no such process');
select throws_ok($$select * from bpm.get_definition('p', 9)$$, 'BP404', 'There is no version 9 of process ''p''.', 'BP404 no such version');
select throws_ok($$select bpm.get_bpmn('q')$$, 'BP404', null, 'BP404 no such file');
select throws_ok($$select * from bpm.get_definition('p', p_tenant_id => 'nobody')$$, 'BP403', null, 'BP403');
select throws_ok($$select bpm.get_bpmn('p', p_tenant_id => 'nobody')$$, 'BP403', null, 'BP403');

-- of several workflows
select lives_ok($$select * from bpm.publish_process('two', '[{"binding_key": "b", "workflow": "p", "version": 1, "depends_on": ["a"], "start_condition": "${x}", "position": 2}, {"binding_key": "a", "workflow": "p", "position": 1}]')$$, 'a process of two');
select is((select jsonb_agg(b - 'graph') from bpm.get_definition('two') g cross join lateral jsonb_array_elements(g.bindings) b), '[
  {"binding_key": "a", "position": 1, "workflow": "p", "version": 2, "owner_role": "default", "owner_role_version": 1, "depends_on": [], "start_condition": null},
  {"binding_key": "b", "position": 2, "workflow": "p", "version": 1, "owner_role": "default", "owner_role_version": 1, "depends_on": ["a"], "start_condition": "${x}"}]'::jsonb, 'its bindings');
select is((select g.graph = g.bindings #> '{0,graph}' and jsonb_array_length(g.bindings #> '{1,graph,tasks}') = 1 from bpm.get_definition('two') g), true, 'each with its graph');
select is(bpm.get_bpmn('two'), test.linear('p', 'a', 'b'), 'the file of the first');
select is(bpm.get_bpmn('two', null, 'b'), test.linear('p', 'a'), 'and of another');
select throws_ok($$select bpm.get_bpmn('two', null, 'c')$$, 'BP404', 'Process ''two'' has no binding ''c''.', 'BP404 no such binding');

create role catalog_stranger;
grant bpm_reader to catalog_stranger;
grant usage on schema bpm to catalog_stranger;
grant select on bpm.definition to catalog_stranger;
set local role catalog_stranger;
select is_empty($$select * from bpm.definition$$, 'the view shows nothing to those without a grant');

reset role;
select * from finish();
rollback;
