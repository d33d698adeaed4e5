-- Single forms raise what is an outcome in the set form; repairs of an instance that does not run are refused.
begin;
select plan(6);
create function pg_temp.code(p_outcome bpm.outcome) returns text language sql as
$$ select coalesce(kit.raised(format('select bpm_core.raise_outcome(''task'', %L, %L, ''Completed'')', '00000000-0000-7000-8000-000000000001', p_outcome)) ->> 'code', 'none') $$;
select is((select array_agg(o || ' ' || pg_temp.code(o) order by o) from unnest(enum_range(null::bpm.outcome)) o),
          '{"Done BP409","Completed none","Failed BP409","Retrying BP409","Released BP409","Extended BP409","Sent BP409","Unknown BP409","Pending BP409","LeaseLost BP410","Cancelled BP409","WrongState BP409","NotFound BP404","Rejected BP422","Conflict BP409","Suspended BP423","TooLate BP409"}'::text[],
          'one code per outcome; the one hoped for is none');
select is(kit.raised($$select bpm_core.raise_outcome('task', '00000000-0000-7000-8000-000000000001', 'Rejected', 'Completed', 'too big')$$) ->> 'message', 'too big', 'a refusal says why, if it is known');
select is(kit.raised($$select bpm_core.raise_outcome('task', '00000000-0000-7000-8000-000000000001', 'NotFound', 'Completed')$$) -> 'detail',
          '{"id": "00000000-0000-7000-8000-000000000001", "outcome": "NotFound"}'::jsonb, 'the outcome is in the detail');

-- Suspended instances (suspending itself is not built yet)
select test.deploy('ask', '<parallelGateway id="fork"/><userTask id="look"/><exclusiveGateway id="gate"/>' || '<endEvent id="end"/>' || test.flows('start>fork', 'fork>look', 'fork>gate', 'look>end') || test.when('gate>end', '${go == true}')) \gset
select test.start('ask') as a \gset
update bpm_core.workflow_instance w set status = 'Suspended' where w.id = test.workflow(:'a');
select throws_ok(format('select * from bpm.complete_user_task(%L)', t.task_id), 'BP423', null, 'a task of a suspended instance is not completed') from bpm.task t where t.process_instance_id = :'a';
select throws_ok(format('select * from bpm.resolve_incident(%L)', i.incident_id), 'BP423', null, 'nor its incident resolved') from bpm.incident i where i.process_instance_id = :'a';
update bpm_core.workflow_instance w set status = 'Cancelled', ended_at = bpm_core.now() where w.id = test.workflow(:'a');
select throws_ok(format('select * from bpm.resolve_incident(%L)', i.incident_id), 'BP409', null, 'nor one of an instance that has ended') from bpm.incident i where i.process_instance_id = :'a';
select * from finish();
rollback;
