-- Deprecated, archived, deleted: what starts no more, what goes on, who refers to what.
begin;
select plan(76);

create function pg_temp.started(p_code text, p_version integer default null) returns text language sql as $$
  select s.outcome::text from bpm.start_processes(jsonb_build_array(jsonb_build_object('code', p_code, 'version', p_version))) s
$$;
create function pg_temp.starts() returns text[] language sql as $$
  select array(select s.kind || ' ' || s.name from bpm_core.subscription s where s.state = 'Open' and s.process_version_id is not null
               union all select 'Timer ' || t.rule from bpm_core.timer t where t.status = 'Scheduled' and t.process_version_id is not null order by 1)
$$;
create function pg_temp.eventful(p_code text) returns text language sql as $$
  select test.bpmn(p_code, '<startEvent id="s"/><startEvent id="m"><messageEventDefinition messageRef="msg"/></startEvent><startEvent id="t"><timerEventDefinition><timeCycle>R/PT1H</timeCycle></timerEventDefinition></startEvent>'
    || '<serviceTask id="a"/><endEvent id="z"/>' || test.flows('s>a', 'm>a', 't>a', 'a>z'), '<message id="msg" name="go"/>')
$$;

-- deprecated
select is((select array_agg(d.version) from (select (bpm.deploy_bpmn(test.linear('p', 'a'))).version union all select (bpm.deploy_bpmn(test.linear('p', 'b'))).version) d), '{1,2}', 'two versions');
select test.start('p') as running \gset
select results_eq($$select * from bpm.deprecate_process('p', 1, 'too slow')$$, $$values ('p', 1, 'Done'::bpm.outcome)$$, 'the older one deprecated');
select results_eq($$select d.version, d.status, d.is_current from bpm.definition d where d.code = 'p' order by 1$$, $$values (1, 'Deprecated', false), (2, 'Published', true)$$, 'as the view shows');
select is(pg_temp.started('p', 1), 'NotFound', 'is not started by its number');
select is(pg_temp.started('p', 2), 'Done', 'the other one is');
select results_eq($$select * from bpm.deprecate_process('p', 1)$$, $$values ('p', 1, 'Done'::bpm.outcome)$$, 'again: the same answer');
select results_eq($$select * from bpm.deprecate_process('p', 2)$$, $$values ('p', 2, 'Done'::bpm.outcome)$$, 'the current one deprecated');
select is(pg_temp.started('p'), 'NotFound', 'then there is none to start');
select is((select d.is_current from bpm.definition d where d.code = 'p' and d.version = 2), false, 'nor a current one');
select throws_ok($$select * from bpm.get_definition('p')$$, 'BP404', 'Process ''p'' has no current version.', 'BP404 says so');
select is(test.complete_next('b') is not null and test.status(:'running') = 'Completed', true, 'what runs goes on');
select results_eq($$select a.aggregate_version, a.reason, a.detail from bpm_core.audit_event a where a.action = 'DeprecateProcess' order by a.id$$,
  $$values (1, 'too slow', '{"was_current": false}'::jsonb), (2, null, '{"was_current": true}')$$, 'audited, once each');
select is((select d.version from bpm.deploy_bpmn(test.linear('p', 'b')) d), 3, 'deployed again it is a new version');
select is(pg_temp.started('p'), 'Done', 'which starts');
select is((select count(*)::integer from bpm.deploy_bpmn(pg_temp.eventful('e'))), 1, 'one that starts by itself');
select is(pg_temp.starts(), '{"Message go","Timer R/PT1H"}', 'waits');
select lives_ok($$select * from bpm.deprecate_process('e', 1)$$, 'until it is deprecated');
select is(pg_temp.starts(), '{}', 'then not');
select is(test.broken(), '{}', 'invariants hold');
select throws_ok(x.call, x.code, null, x.code || ' ' || x.call)
  from (values ($$select * from bpm.deprecate_process('p', null)$$, 'BP400'), ($$select * from bpm.deprecate_process('p', 9)$$, 'BP404'), ($$select * from bpm.deprecate_process('nix', 1)$$, 'BP404'),
    ($$select * from bpm.deprecate_process('p', 1, repeat('x', 5000))$$, 'BP422'), ($$select * from bpm.deprecate_process('p', 1, p_tenant_id => 'nobody')$$, 'BP403')) x(call, code);

-- archived
select is((select d.version from bpm.deploy_bpmn(pg_temp.eventful('e')) d), 2, 'deployed again');
select is(pg_temp.starts(), '{"Message go","Timer R/PT1H"}', 'it waits again');
select results_eq($$select * from bpm.archive_definition('process', 'e', 'moved')$$, $$values ('process', 'e', 'Done'::bpm.outcome)$$, 'archived');
select is(pg_temp.starts(), '{}', 'it does not');
select is(pg_temp.started('e'), 'NotFound', 'nor does a call start it');
select is((select d.archived_at is not null from bpm.definition d where d.code = 'e' and d.version = 2), true, 'as the view shows');
select results_eq($$select * from bpm.archive_definition('process', 'e')$$, $$values ('process', 'e', 'Done'::bpm.outcome)$$, 'again: the same answer');
select is(test.broken(), '{}', 'invariants hold');
select results_eq($$select d.version, d.is_new from bpm.deploy_bpmn(pg_temp.eventful('e')) d$$, $$values (2, false)$$, 'deployed again it is the same version');
select is(pg_temp.starts(), '{"Message go","Timer R/PT1H"}', 'which waits');
select lives_ok(x.call, x.call)
  from (values ($$select * from bpm.archive_definition('workflow', 'e')$$), ($$select * from bpm.archive_definition('task', 'a')$$), ($$select * from bpm.archive_definition('role', 'default')$$)) x(call);
select is(pg_temp.started('e'), 'Done', 'parts that are archived do not stop what is pinned to them');
select is((select array_agg(concat_ws(' ', a.aggregate_type, a.aggregate_id, a.reason) order by a.id) from bpm_core.audit_event a where a.action = 'ArchiveDefinition'), '{"process e moved","workflow e","task a","role default"}', 'audited');
select is((select c.code from bpm.check_bpmn(test.linear('x', 'a')) c), 'ArchivedTask', 'but nothing new uses them: a task');
select throws_like($$select * from bpm.deploy_bpmn(test.linear('x', 'z'))$$, '%no role ''default''%archived%', 'a role');
select lives_ok($$select * from bpm.publish_role('default')$$, 'published again');
select throws_like($$select * from bpm.publish_process('x', '[{"binding_key": "a", "workflow": "e"}]')$$, '%archived%', 'a workflow');
select throws_ok(x.call, x.code, null, x.code || ' ' || x.call)
  from (values ($$select * from bpm.archive_definition('thing', 'p')$$, 'BP400'), ($$select * from bpm.archive_definition(null, 'p')$$, 'BP400'), ($$select * from bpm.archive_definition('task', 'nix')$$, 'BP404'),
    ($$select * from bpm.archive_definition('role', null)$$, 'BP404'), ($$select * from bpm.archive_definition('process', 'p', p_tenant_id => 'nobody')$$, 'BP403')) x(call, code);

-- deleted
create function pg_temp.refused(p_kind text, p_code text) returns jsonb language sql as $$
  select kit.raised(format('select * from bpm.delete_definition(%L, %L)', p_kind, p_code)) #> '{detail,referred_by}'
$$;
select is((select count(*)::integer from bpm.publish_role('clerk')), 1, 'a role');
select is((select count(*)::integer from bpm.publish_task('job')), 1, 'a task');
select is((select count(*)::integer from bpm.publish_workflow('flow', test.linear('f', 'job'), p_owner_role => 'clerk')), 1, 'a workflow');
select is((select count(*)::integer from bpm.publish_process('proc', '[{"binding_key": "main", "workflow": "flow"}]')), 1, 'a process');
select is((select count(*)::integer from bpm.deploy_bpmn(test.bpmn('caller', '<startEvent id="s"/><callActivity id="c" calledElement="proc"/><endEvent id="e"/>' || test.flows('s>c', 'c>e')))), 1, 'and who calls it');
select throws_ok($$select * from bpm.delete_definition('process', 'proc')$$, 'BP409', 'The process ''proc'' is not archived.', 'BP409 what is in use');
select is((select count(*)::integer from (select bpm.archive_definition('role', 'clerk') union all select bpm.archive_definition('task', 'job') union all select bpm.archive_definition('workflow', 'flow')
  union all select bpm.archive_definition('process', 'proc') union all select bpm.archive_definition('process', 'p')) x), 5, 'archived');
select throws_ok($$select * from bpm.delete_definition('process', 'proc')$$, 'BP409', 'The process ''proc'' is not archived for a minute yet.', 'BP409 too early');
select bpm.advance_clock(interval '2 minutes') is not null as moved \gset
select is(pg_temp.refused('role', 'clerk'), '[{"kind": "workflow", "code": "flow", "version": 1}]', 'BP409 a role that owns a workflow');
select is(pg_temp.refused('task', 'job'), '[{"kind": "workflow", "code": "flow", "version": 1}]', 'BP409 a task that a workflow has');
select is(pg_temp.refused('workflow', 'flow'), '[{"kind": "process", "code": "proc", "version": 1}]', 'BP409 a workflow that a process binds');
select is(pg_temp.refused('process', 'proc'), '[{"kind": "workflow", "code": "caller", "version": 1}]', 'BP409 a process that is called');
select is(pg_temp.refused('process', 'p'), '[{"kind": "process instance", "count": 3}]', 'BP409 a process that has run');
select lives_ok($$select * from bpm.archive_definition('process', 'caller')$$, 'who calls it archived');
select lives_ok($$select * from bpm.archive_definition('workflow', 'caller')$$, 'with its workflow');
select bpm.advance_clock(interval '2 minutes') is not null as moved \gset
select results_eq(x.call, x.answer, x.call)
  from (values ($$select * from bpm.delete_definition('process', 'caller')$$, $$values ('process', 'caller', 1, 'Done'::bpm.outcome)$$), ($$select * from bpm.delete_definition('workflow', 'caller')$$, $$values ('workflow', 'caller', 1, 'Done'::bpm.outcome)$$),
    ($$select * from bpm.delete_definition('process', 'proc', 'unused')$$, $$values ('process', 'proc', 1, 'Done'::bpm.outcome)$$), ($$select * from bpm.delete_definition('workflow', 'flow')$$, $$values ('workflow', 'flow', 1, 'Done'::bpm.outcome)$$),
    ($$select * from bpm.delete_definition('task', 'job')$$, $$values ('task', 'job', 1, 'Done'::bpm.outcome)$$), ($$select * from bpm.delete_definition('role', 'clerk')$$, $$values ('role', 'clerk', 1, 'Done'::bpm.outcome)$$)) x(call, answer);
select is((select count(*)::integer from bpm.workflow_version w where w.code in ('flow', 'caller')), 0, 'gone');
select results_eq($$select * from bpm.publish_role('clerk')$$, $$values (1, true)$$, 'published again they begin anew');
select is((select count(*)::integer from bpm_core.audit_event a where a.action = 'DeleteDefinition'), 6, 'audited');
select is(test.broken(), '{}', 'invariants hold');
select throws_ok(x.call, x.code, null, x.code || ' ' || x.call)
  from (values ($$select * from bpm.delete_definition('thing', 'p')$$, 'BP400'), ($$select * from bpm.delete_definition('process', 'nix')$$, 'BP404'), ($$select * from bpm.delete_definition('process', 'p', p_tenant_id => 'nobody')$$, 'BP403')) x(call, code);

select * from finish();
rollback;
