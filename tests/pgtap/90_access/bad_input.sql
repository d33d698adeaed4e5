-- Every public function, as the catalog lists them, with arguments nobody should pass: what comes out is an answer or an error of class BP.
-- New functions and parameters are covered by being there.
begin;
select test.deploy_everything() \g /dev/null
select test.start('everything', '{"amount": 5}', 'B-1') as instance \gset
select a.event_id as event from bpm.accept_event('c', '1', 't') a \gset

-- What to pass for a type, as SQL literals: nothing, too little, too much, the wrong kind.
create temp table bad (type text, literal text) on commit drop;
insert into bad values
  ('text', 'null'), ('text', ''''''), ('text', ''' '''), ('text', 'repeat(''x'', 100000)'), ('text', '''%'''), ('text', '''; drop table x; --'''), ('text', 'E''\u0001'''),
  ('uuid', 'null'), ('uuid', '''ffffffff-ffff-ffff-ffff-ffffffffffff'''), ('uuid', quote_literal(:'instance')),
  ('integer', 'null'), ('integer', '0'), ('integer', '''-1'''), ('integer', '2147483647'), ('integer', '''-2147483648'''),
  ('bigint', 'null'), ('bigint', '''-1'''), ('bigint', '9223372036854775807'),
  ('numeric', 'null'), ('numeric', '''NaN'''), ('numeric', '''Infinity'''), ('numeric', '''-1'''), ('numeric', '''1e1000'''), ('numeric', '''1e-1000'''),
  ('boolean', 'null'), ('boolean', 'true'),
  ('interval', 'null'), ('interval', '''0'''), ('interval', '''-1 second'''), ('interval', '''178000000 years'''), ('interval', '''-178000000 years'''),
  ('jsonb', 'null'), ('jsonb', '''null'''), ('jsonb', '''[]'''), ('jsonb', '''{}'''), ('jsonb', '''"x"'''), ('jsonb', '''1e1000'''), ('jsonb', '''[null, 1, {}]'''),
  ('jsonb', '''{"a": "__var:1:{"}'''), ('jsonb', 'jsonb_build_object(''a'', ''__var:1:'' || repeat(''['', 40000))'),
  ('jsonb', '(repeat(''{"a":'', 5000) || ''1'' || repeat(''}'', 5000))::jsonb'), ('jsonb', '(select jsonb_agg(''{}''::jsonb) from generate_series(1, 1001))'),
  ('jsonb', '''[{"task_id": "x", "command_id": "x", "fencing_token": -1, "code": 1}]'''),
  ('jsonb', '''[{"task_id": "00000000-0000-0000-0000-000000000000", "fencing_token": 1e30}]'''),
  ('jsonb', '''{"timers": {"mark_at": "4714-11-24 BC"}, "pending": {"full_at": "infinity"}, "x": [{"check_cost": "178000000 years"}]}'''),
  ('text[]', 'null'), ('text[]', '''{}'''), ('text[]', '''{null}'''), ('text[]', '''{a,a}'''), ('text[]', 'array[repeat(''x'', 100000)]');

-- Arguments that are in order, for the others while one is bad.
create temp table good (name text, literal text) on commit drop;
insert into good values
  ('p_worker', '''w'''), ('p_types', '''{reserve}'''), ('p_code', '''everything'''), ('p_name', '''picked-up'''), ('p_correlation_key', '''K'''), ('p_xml', 'test.linear(''z'')'),
  ('p_process_instance_id', quote_literal(:'instance')), ('p_workflow_instance_id', quote_literal(test.workflow(:'instance'))), ('p_items', '''[]'''),
  ('p_variables', '''{}'''), ('p_decision', '''Approved'''), ('p_outcome', '''Sent'''), ('p_error_code', '''e'''), ('p_error', '''"e"'''), ('p_fencing_token', '1'),
  ('p_new_tenant_id', '''t'''), ('p_role', quote_literal(session_user)), ('p_tenant_pattern', ''''''), ('p_capability', '''reader'''), ('p_value', '''5'''),
  ('p_config', '''{"url": "http://x.example/"}'''), ('p_task_type', '''z'''),
  ('p_task_id', (select quote_literal(t.task_id) from bpm.task t limit 1)), ('p_approval_id', quote_literal(:'instance')), ('p_incident_id', quote_literal(:'instance')),
  ('p_dead_letter_id', quote_literal(:'instance')), ('p_command_id', quote_literal(:'instance')),
  ('p_token_id', (select quote_literal(k.id) from bpm_core.token k where k.state = 'Waiting' limit 1)), ('p_node_id', '''reserve'''),
  ('p_from_version', '1'), ('p_to_version', '1'), ('p_evidence_id', quote_literal(:'instance')), ('p_subject_type', '''s'''), ('p_subject_key', '''k'''), ('p_reason', '''why'''), ('p_suspended_tenant_id', '''t'''), ('p_resumed_tenant_id', '''t'''),
  ('p_event_id', quote_literal(:'event')), ('p_event_type', '''t.*'''), ('p_action', '''Ignore'''), ('p_decision jsonb', '''{"action": "Ignore"}''');

-- And what goes for any other that must be passed.
create temp table usual (type text, literal text) on commit drop;
insert into usual values ('text', '''x'''), ('uuid', quote_literal(:'instance')), ('jsonb', '''{}'''), ('integer', '1'), ('bigint', '1'), ('boolean', 'true'), ('interval', '''1 hour'''), ('text[]', '''{x}''');

-- The SQLSTATE of calling a function so; what the call did is undone.
create function pg_temp.outcome(p_call text) returns text language plpgsql as $$
begin
  execute p_call;
  raise exception using errcode = 'TST00';
exception when others then
  return sqlstate;
end $$;

create temp view calls as
select f.name, f.parameters[b.n] as parameter, x.literal,
       format('select * from bpm.%I(%s)', f.name, (
         select string_agg(format('%I => %s::%s', f.parameters[a.n], case when a.n = b.n then x.literal else coalesce(g.literal, u.literal) end, f.types[a.n]), ', ' order by a.n)
           from generate_subscripts(f.types, 1) a(n)
           left join good g on g.name = f.parameters[a.n] || case when f.parameters[a.n] = 'p_decision' and f.types[a.n] = 'jsonb' then ' jsonb' else '' end
           left join usual u on u.type = f.types[a.n]
          where a.n = b.n or g.literal is not null or a.n <= f.required)) as call
  from (select p.proname as name, p.proargnames[1 : p.pronargs] as parameters, p.pronargs - p.pronargdefaults as required,
               array(select format_type(t.oid, null) from unnest(p.proargtypes) with ordinality t(oid, n) order by t.n) as types
          from pg_proc p where p.pronamespace = 'bpm'::regnamespace and p.proname not like '%\_clock') f
 cross join lateral generate_subscripts(f.types, 1) b(n)
  join bad x on x.type = f.types[b.n]
 where f.types <> '{}';

select plan(3);
select ok((select count(*) > 800 and count(distinct c.name) > 40 from calls c), 'there are calls to make, of every function');
select is_empty($$
  select c.name, c.parameter, left(c.literal, 60), o.state
    from calls c
   cross join lateral pg_temp.outcome(c.call) o(state)
   where o.state !~ '^(BP|TST00)'$$, 'whatever is passed, the answer is an answer or of class BP');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
