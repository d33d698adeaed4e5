-- Output mappings of a call activity that cannot be evaluated: the incident stops nobody, resolving maps again, nothing is called twice.
begin;
select plan(3);
create function pg_temp.io(p_inputs text, p_outputs text) returns text language sql as
$$ select '<extensionElements><zeebe:ioMapping xmlns:zeebe="http://camunda.org/schema/zeebe/1.0">' || p_inputs || p_outputs || '</zeebe:ioMapping></extensionElements>' $$;
create function pg_temp.out(p_target text, p_source text) returns text language sql as $$ select format('<zeebe:output target="%s" source="%s"/>', p_target, p_source) $$;

select test.deploy('leafp', test.service('leaf') || '<endEvent id="end"/>' || test.flows('start>leaf', 'leaf>end')) \gset
select test.deploy('caller', '<callActivity id="call" calledElement="leafp">' || pg_temp.io('', pg_temp.out('total', '= price + 1')) || '</callActivity>' || test.service('after') || '<endEvent id="end"/>' || test.flows('start>call', 'call>after', 'after>end')) \gset
select test.start('caller') as c \gset
select test.complete_next('leaf', '{"price": "none"}') as done \gset
select bpm.run_until_idle() as ticks \gset
select is(test.incidents(:'c') || test.standing(:'c'), '{InboxPoisoned,"call Waiting"}', 'its output cannot be evaluated: an incident, the caller keeps its place');
update bpm_core.workflow_instance set variables = '{"price": 7}' where parent_token_id is not null and process_instance_id = :'c';
select r.outcome from bpm.incident i cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'c' and i.state = 'Open' \gset
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'c') || (bpm.get_variables(:'c') ->> 'total'), '{"after Waiting",8}', 'resolved, it is mapped again');
select is((select count(*) from bpm_core.workflow_instance w where w.process_instance_id = :'c'), 2::bigint, 'nothing was called twice');


select * from finish();
rollback;
