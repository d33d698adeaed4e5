-- Processes that bind workflows: what is stored, when it is new, what is refused, by name.
begin;
select plan(56);

select is((select p.version from bpm.publish_workflow('pick', test.linear('p', 'a')) p), 1, 'a workflow');
select is((select p.version from bpm.publish_workflow('pack', test.linear('p', 'b')) p), 1, 'another');
select lives_ok($$select * from bpm.publish_workflow('pick', test.linear('p', 'c'))$$, 'one of them twice');
create function pg_temp.published(p_bindings jsonb, p_name text default null) returns text language sql as $$
  select 'version ' || p.version || case when p.is_new then ' new' else '' end from bpm.publish_process('ship', p_bindings, p_name) p
$$;
create function pg_temp.faults(p_bindings jsonb) returns text[] language sql as $$
  select array(select f ->> 'code' || ' ' || (f ->> 'binding_key') from jsonb_array_elements((kit.raised(format('select * from bpm.publish_process(''q'', %L)', p_bindings)) -> 'detail') -> 'faults') f)
$$;
create function pg_temp.bound(p_version integer) returns text[] language sql as $$
  select array(
    select concat_ws(' ', b.position, b.binding_key, d.code || w.version, b.depends_on, b.start_source, b.start_condition is not null, b.start_tree is not null)
      from bpm_core.process_definition p
      join bpm_core.process_version v on v.definition_id = p.id and v.version = p_version
      join bpm_core.process_workflow_binding b on b.process_version_id = v.id
      join bpm_core.workflow_version w on w.id = b.workflow_version_id
      join bpm_core.workflow_definition d on d.id = w.definition_id
     where p.code = 'ship'
     order by b.position)
$$;

select is(pg_temp.published('[{"binding_key": "a", "workflow": "pick"}, {"binding_key": "b", "workflow": "pack", "depends_on": ["a"], "start_condition": "${amount > 5}"}]'), 'version 1 new', 'the first version');
select is(pg_temp.bound(1), '{"1 a pick2 {} f f","2 b pack1 {a} ${amount > 5} t f"}', 'binds the published versions');
select is(pg_temp.published('[{"binding_key": "b", "workflow": "pack", "version": 1, "position": 2, "depends_on": ["a"], "start_condition": " ${amount > 5} "}, {"binding_key": "a", "workflow": "pick", "position": 1, "version": 2}]'),
  'version 1', 'said otherwise it is the same');
select is(pg_temp.published('[{"binding_key": "a", "workflow": "pick", "version": 1}, {"binding_key": "b", "workflow": "pack", "depends_on": ["a"], "start_condition": "= amount * 2 > 5"}]'), 'version 2 new', 'another version of a workflow is another');
select is(pg_temp.bound(2), '{"1 a pick1 {} f f","2 b pack1 {a} = amount * 2 > 5 f t"}', 'conditions that are more than a jsonpath');
select is(pg_temp.published('[{"binding_key": "a", "workflow": "pick"}]', 'Shipping'), 'version 3 new', 'a name');
select is(pg_temp.published('[{"binding_key": "a", "workflow": "pick"}, {"binding_key": "b", "workflow": "pack", "depends_on": ["a"], "start_condition": "${amount > 5}"}]'), 'version 1', 'an older one is that one again');
select results_eq($$select d.version, d.name, d.is_current from bpm.definition d where d.code = 'ship' order by 1$$, $$values (1, null, true), (2, null, false), (3, 'Shipping', false)$$, 'and the current one');
select is((select array_agg(a.aggregate_version order by a.id) from bpm_core.audit_event a where a.action = 'PublishProcess'), '{1,2,3,1}', 'audited when something moved');
update bpm_core.process_version v set status = 'Deprecated' where v.version = 1;
select is(pg_temp.published('[{"binding_key": "a", "workflow": "pick"}, {"binding_key": "b", "workflow": "pack", "depends_on": ["a"], "start_condition": "${amount > 5}"}]'), 'version 4 new', 'a deprecated one does not come back');
update bpm_core.process_definition d set archived_at = bpm_core.now();
select is(pg_temp.published('[{"binding_key": "a", "workflow": "pick"}, {"binding_key": "b", "workflow": "pack", "depends_on": ["a"], "start_condition": "${amount > 5}"}]'), 'version 4', 'an archived one published again');
select is((select d.archived_at from bpm_core.process_definition d), null, 'is archived no longer');

-- references
select is(pg_temp.faults('[{"binding_key": "a", "workflow": "nix"}, {"binding_key": "b", "workflow": "pick", "version": 9}]'), '{UnknownWorkflow a,UnknownWorkflow b}', 'no such workflow, no such version');
update bpm_core.workflow_definition d set archived_at = bpm_core.now() where d.code = 'pack';
select is(kit.raised($$select * from bpm.publish_process('q', '[{"binding_key": "a", "workflow": "pack"}]')$$) ->> 'message', 'Process ''q'' was not published. Binding ''a'', UnknownWorkflow: The workflow ''pack'' is archived.', 'an archived workflow');
select lives_ok($$select * from bpm.publish_workflow('pack', test.linear('p', 'b'))$$, 'published again');
select is(pg_temp.faults('[{"binding_key": "a", "workflow": "pack"}, {"binding_key": "a", "workflow": "pick"}]'), '{DuplicateKey a}', 'a key twice');
select is(pg_temp.faults('[{"binding_key": "a", "workflow": "pack"}, {"binding_key": "b", "workflow": "pick", "position": 1}]'), '{DuplicatePosition a}', 'a position twice');
select is(pg_temp.faults('[{"binding_key": "call:x", "workflow": "pack"}]'), '{ReservedKey call:x}', 'a reserved key');
select is(pg_temp.faults('[{"binding_key": "a", "workflow": "pack", "start_condition": "${amount >}"}]'), '{InvalidCondition a}', 'an unreadable condition');
select is(pg_temp.faults('[{"binding_key": "a", "workflow": "pack", "start_condition": "= count(items)"}]'), '{InvalidCondition a}', 'one that is neither true nor false');
select is(pg_temp.faults('[{"binding_key": "a", "workflow": "pack", "depends_on": ["b"]}]'), '{UnknownKey a}', 'an unknown key');

-- order
select is(pg_temp.faults('[{"binding_key": "a", "workflow": "pack", "depends_on": ["a"]}]'), '{Cycle a}', 'a binding that waits for itself');
select is(pg_temp.faults('[{"binding_key": "a", "workflow": "pack", "depends_on": ["c"]}, {"binding_key": "b", "workflow": "pack", "depends_on": ["a"]}, {"binding_key": "c", "workflow": "pack", "depends_on": ["b"]},
  {"binding_key": "d", "workflow": "pack", "depends_on": ["c"]}, {"binding_key": "e", "workflow": "pack"}]'), '{Cycle a,Cycle b,Cycle c,Cycle d}', 'three that wait for each other, and one that waits for them');
select is(pg_temp.faults('[{"binding_key": "d", "workflow": "pack", "depends_on": ["b", "c"]}, {"binding_key": "b", "workflow": "pack", "depends_on": ["a"]}, {"binding_key": "c", "workflow": "pack", "depends_on": ["a"]},
  {"binding_key": "a", "workflow": "pack"}]'), '{}', 'a diamond is none');

-- starts
create function pg_temp.starts(p_code text, p_events text) returns integer language sql as $$
  select p.version from bpm.publish_workflow(p_code, test.bpmn(p_code, p_events || '<endEvent id="end"/>' ||
    (select string_agg(test.flows(m[1] || '>end'), '') from regexp_matches(p_events, '<startEvent id="(\w+)"', 'g') m), '<message id="m" name="paid"/>')) p
$$;
select is(pg_temp.starts('by-message', '<startEvent id="s1"><messageEventDefinition messageRef="m"/></startEvent>'), 1, 'a workflow that a message starts');
select is(pg_temp.starts('both', '<startEvent id="s1"><messageEventDefinition messageRef="m"/></startEvent><startEvent id="s2"/>'), 1, 'one that is started both ways');
select is(pg_temp.faults('[{"binding_key": "a", "workflow": "by-message"}, {"binding_key": "b", "workflow": "pick"}]'), '{NoStartEvent a}', 'no plain start beside others');
select is(pg_temp.faults('[{"binding_key": "a", "workflow": "by-message", "start_condition": "${x}"}]'), '{NoStartEvent a}', 'or with a condition');
select is(pg_temp.faults('[{"binding_key": "a", "workflow": "both", "depends_on": ["b"]}, {"binding_key": "b", "workflow": "pick"}]'), '{EventStart a}', 'an event start beside others');
select is(pg_temp.faults('[{"binding_key": "a", "workflow": "both", "start_condition": "${x}"}]'), '{EventStart a}', 'or with a condition');
select results_eq($$select * from bpm.publish_process('paid', '[{"binding_key": "main", "workflow": "by-message"}]')$$, $$values (1, true)$$, 'alone it may start by a message');
select is((select count(*)::integer from bpm_core.subscription s where s.state = 'Open' and s.name = 'paid'), 1, 'which it waits for');
select lives_ok($$select * from bpm.publish_process('paid', '[{"binding_key": "main", "workflow": "pick"}]')$$, 'until another version does not');
select is((select count(*)::integer from bpm_core.subscription s where s.state = 'Open' and s.name = 'paid'), 0, 'then nobody does');
select is((select s.status from bpm.start_process('paid') s), 'Running', 'and it starts by a call');
select is(test.broken(), '{}', 'invariants hold');

select throws_ok(x.call, x.code, null, x.code || ' ' || x.call)
  from (values
    ($$select * from bpm.publish_process(null, '[{"binding_key": "a", "workflow": "pick"}]')$$, 'BP400'), ($$select * from bpm.publish_process('q', '[{"binding_key": "a", "workflow": "pick"}]', repeat('x', 201))$$, 'BP400'),
    ($$select * from bpm.publish_process('q', null)$$, 'BP400'), ($$select * from bpm.publish_process('q', '[]')$$, 'BP400'), ($$select * from bpm.publish_process('q', '{}')$$, 'BP400'), ($$select * from bpm.publish_process('q', '[1]')$$, 'BP400'),
    ($$select * from bpm.publish_process('q', '[{"binding_key": "a", "workflow": "pick", "x": 1}]')$$, 'BP400'), ($$select * from bpm.publish_process('q', '[{"workflow": "pick"}]')$$, 'BP400'),
    ($$select * from bpm.publish_process('q', '[{"binding_key": "a"}]')$$, 'BP400'), ($$select * from bpm.publish_process('q', '[{"binding_key": "a", "workflow": "pick", "version": "x"}]')$$, 'BP400'),
    ($$select * from bpm.publish_process('q', '[{"binding_key": "a", "workflow": "pick", "version": "1"}]')$$, 'BP400'), ($$select * from bpm.publish_process('q', '[{"binding_key": "a", "workflow": "pick", "position": "1"}]')$$, 'BP400'),
    ($$select * from bpm.publish_process('q', '[{"binding_key": "a", "workflow": "pick", "depends_on": "b"}]')$$, 'BP400'), ($$select * from bpm.publish_process('q', '[{"binding_key": "a", "workflow": "pick", "depends_on": ["b", "b"]}]')$$, 'BP400'),
    ($$select * from bpm.publish_process('q', '[{"binding_key": "a", "workflow": "pick", "start_condition": 1}]')$$, 'BP400'), ($$select * from bpm.publish_process('q', '[{"binding_key": "a", "workflow": "pick"}]', p_tenant_id => 'nobody')$$, 'BP403')) x (call, code);

-- as many as there may be, each depending on all before it
set local statement_timeout = '10s';
select is(pg_temp.published((select jsonb_agg(jsonb_build_object('binding_key', 'k' || i, 'workflow', 'pick', 'depends_on',
                                                                 (select coalesce(jsonb_agg('k' || j), '[]') from generate_series(1, i - 1) j)) order by i)
                               from generate_series(1, 100) i)) like 'version % new', true, 'a hundred bindings are published in a moment');

select * from finish();
rollback;
