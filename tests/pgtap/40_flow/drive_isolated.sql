-- One token that raises does not stop the others of its call: it becomes an incident where it arrived, and what was accepted is kept.
begin;
select plan(20);
select test.deploy('step', test.service('one') || '<manualTask id="pass"/>' || test.service('two') || '<endEvent id="end"/>' || test.flows('start>one', 'one>pass', 'pass>two', 'two>end')) \gset
create function pg_temp.refuse() returns trigger language plpgsql as $$
begin
  if new.node_id = 'two' and exists (select from bpm.instance i where i.workflow_instance_id = new.workflow_instance_id and i.variables @> '{"bad": true}') then
    raise 'no room for task two';
  end if;
  return new;
end $$;
create trigger refuse before insert on bpm_core.task_instance for each row execute function pg_temp.refuse();

-- A batch of ten, of which two cannot go on
select s.item, s.process_instance_id into temp batch from bpm.start_processes((select jsonb_agg(jsonb_build_object('code', 'step', 'variables', jsonb_build_object('n', n, 'bad', n in (4, 7))) order by n) from generate_series(1, 10) n)) s;
select c.tasks from bpm.claim_tasks_at('w', '{one}', 10) c \gset
select is((select array_agg(distinct c.outcome::text) from bpm.complete_tasks(test.items(:'tasks', '{"variables": {"answer": 42}}')) c), '{Completed}', 'all ten answers are accepted');
select is((select array_agg(b.item order by b.item) from batch b where test.standing(b.process_instance_id) = '{"two Waiting"}'), '{1,2,3,5,6,8,9,10}', 'eight go on');
select is((select array_agg(distinct array_to_string(test.standing(b.process_instance_id) || test.incidents(b.process_instance_id), ', ')) from batch b where b.item in (4, 7)), '{"pass Failed, AdvanceFailed pass"}',
          'two stop with an incident where they arrived; the hops after it are undone');
select is((select array_agg(distinct i.message) from bpm.incident i), '{"no room for task two (P0001)"}', 'that says why');
select is((select array_agg(distinct test.history(b.process_instance_id)::text) from batch b where b.item in (4, 7)), '{"{\"InstanceStarted 1\",\"TaskCompleted 1\",\"IncidentOpened 1\"}"}', 'their answers are in history');
select is((select count(*) from batch b where bpm.get_variables(b.process_instance_id) @> '{"answer": 42}'), 10::bigint, 'and in their variables');
select is((select c.outcome::text from bpm.complete_tasks((select jsonb_agg(i) from jsonb_array_elements(test.items(:'tasks', '{"variables": {"answer": 42}}')) with ordinality i(i, n) where n = 4)) c), 'Completed', 'a repeat gets the first answer');

-- Mended
select i.incident_id as incident, i.process_instance_id as stopped from bpm.incident i order by i.incident_id limit 1 \gset
select bpm.resolve_incident(:'incident') is not null as resolved \gset
select is(test.standing(:'stopped') || test.incidents(:'stopped'), '{"pass Failed","AdvanceFailed pass"}', 'not mended: another incident');
select bpm.set_variables(:'stopped', '{"bad": false}') is not null as mended \gset
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'stopped' and i.state = 'Open' \gset
select is(test.standing(:'stopped') || test.history(:'stopped', 'TokenMoved'), '{"two Waiting","TokenMoved 1"}', 'mended: it goes the rest of its way');

-- A start, a message, a timer
select test.deploy('begin', '<manualTask id="pass"/>' || test.service('two') || '<endEvent id="end"/>' || test.flows('start>pass', 'pass>two', 'two>end')) \gset
select s.* from bpm.start_process('begin', '{"bad": true}', 'S-1', 'key') s \gset s_
select is(:'s_status' || test.standing(:'s_process_instance_id')::text || test.incidents(:'s_process_instance_id')::text, 'Running{"pass Failed"}{"AdvanceFailed pass"}', 'a start whose first node raises is a started process with an incident');
select is((select s.process_instance_id from bpm.start_process('begin', '{"bad": true}', 'S-1', 'key') s), :'s_process_instance_id'::uuid, 'its key is kept');
select test.deploy('told', '<intermediateCatchEvent id="wait"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>' || test.service('two') || '<endEvent id="end"/>' || test.flows('start>wait', 'wait>two', 'two>end'), '<message id="m" name="go"/>') \gset
select test.start('told', '{"bad": true}', 'T-1') as told \gset
select is((select m.state from bpm.correlate_message('go', 'T-1', '{"x": 1}') m), 'Correlated', 'a message is received');
select is(test.incidents(:'told') || bpm.get_variables(:'told')::text || (select count(*) from bpm_core.inbox)::text, '{"AdvanceFailed two","{\"x\": 1, \"bad\": true}",0}', 'though its token cannot go on; it is not applied again');
select test.deploy('timed', test.timer('wait', '<timeDuration>PT0S</timeDuration>') || test.service('two') || '<endEvent id="end"/>' || test.flows('start>wait', 'wait>two', 'two>end')) \gset
select test.start('timed', '{"bad": true}') as bad, test.start('timed') as good \gset
select is(test.tick('timers'), 2, 'two timers fire in one tick');
select is(test.incidents(:'bad') || test.standing(:'good'), '{"AdvanceFailed two","two Waiting"}', 'the one does not stop the other');
select is(test.tick('timers'), 0, 'nor fire again');

-- What the caller has to repeat is not an incident
create or replace function pg_temp.refuse() returns trigger language plpgsql as $$ begin raise 'try again' using errcode = '40001'; end $$;
select throws_ok($$select test.start('step')$$, '40001', null, 'a serialization failure comes as it is: the caller repeats');
create or replace function pg_temp.refuse() returns trigger language plpgsql as $$ begin raise 'dead' using errcode = '40P01'; end $$;
select throws_ok($$select test.start('step')$$, '40P01', null, 'so does a deadlock');
create or replace function pg_temp.refuse() returns trigger language plpgsql as $$ begin raise 'locked' using errcode = '55P03'; end $$;
select throws_ok($$select test.start('step')$$, '55P03', null, 'and a lock that could not be had');
drop trigger refuse on bpm_core.task_instance;
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
