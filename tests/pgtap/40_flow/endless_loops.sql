-- Loops in which nothing ever waits (C24), drawn otherwise than with gateways, sub-processes, standard loops and conditions (see there): the call comes back, tick goes on, past the loop budget it is an
-- incident, and cancelling ends it.
begin;
select plan(12);
select bpm.set_setting('engine.loop_budget', '1000') is not null as set \gset
-- start → p_inside, which leads in at m and out at x, and round again.
create function pg_temp.round(p_code text, p_inside text, p_outside text default '') returns uuid language sql as $$
  select test.deploy(p_code, '<exclusiveGateway id="m"/><exclusiveGateway id="x" default="x_m"/><endEvent id="end"/>' || p_inside || test.flows('start>m', 'x>m') || test.when('x>end', '${stop == true}'), p_outside);
  select test.start(p_code) $$;
create function pg_temp.ends(p uuid) returns text language sql as $$
  select array_to_string(test.incidents(p), ',') || ' ' || (select count(*) from bpm_core.token k join bpm_core.workflow_instance w on w.id = k.workflow_instance_id where w.process_instance_id = p and k.state in ('Ready', 'Executing', 'Waiting')) $$;

select pg_temp.round('multi', '<manualTask id="s"><multiInstanceLoopCharacteristics><loopCardinality>1</loopCardinality></multiInstanceLoopCharacteristics></manualTask>' || test.flows('m>s', 's>x')) as multi \gset
select pg_temp.round('split', '<inclusiveGateway id="g"/><manualTask id="p"/><manualTask id="q"/><inclusiveGateway id="j"/>' || test.flows('m>g', 'g>p', 'g>q', 'p>j', 'q>j', 'j>x')) as split \gset
select pg_temp.round('told', '<intermediateThrowEvent id="t"><escalationEventDefinition escalationRef="e"/></intermediateThrowEvent><intermediateThrowEvent id="u"><signalEventDefinition signalRef="s"/></intermediateThrowEvent>'
  || '<intermediateThrowEvent id="l"><linkEventDefinition name="l"/></intermediateThrowEvent><intermediateCatchEvent id="c"><linkEventDefinition name="l"/></intermediateCatchEvent>' || test.flows('m>t', 't>u', 'u>l', 'c>x'), '<escalation id="e" escalationCode="e"/><signal id="s" name="nobody"/>') as told \gset
select is(pg_temp.ends(p.id) ~ '^LoopBudget [a-z]+ 0$', true, 'an endless loop: ' || p.what)
  from (values (:'multi'::uuid, 'multi-instance'), (:'split', 'inclusive split and join'), (:'told', 'links, and events thrown that nobody hears')) p (id, what);
select is(test.broken(), '{}', 'nothing is broken');
select r.outcome from bpm.incident i cross join lateral bpm.set_variables(i.process_instance_id, '{"stop": true}') v cross join lateral bpm.resolve_incident(i.incident_id) r where i.process_instance_id = :'multi' \gset
select is(test.status(:'multi'), 'Completed', 'mended, it ends');
select is((select string_agg(distinct c.status, ',') from (values (:'split'::uuid), (:'told')) p (id) cross join lateral bpm.cancel_process(p.id) c), 'Cancelled', 'the others can be cancelled');

-- A call ends through the inbox: each turn is a tick's, so no call hangs; whoever asks for idleness is told, and it can be cancelled
select test.deploy('empty', '<endEvent id="e"/>' || test.flows('start>e')) \gset
select pg_temp.round('call', '<callActivity id="s" calledElement="empty"/>' || test.flows('m>s', 's>x')) as call \gset
select is((select count(*) from bpm_core.workflow_instance w where w.process_instance_id = :'call'), 2::bigint, 'an endless loop of calls comes back after the first');
select sum(test.tick()) as done from generate_series(1, 20) \gset
select is((select count(*) from bpm_core.workflow_instance w where w.process_instance_id = :'call') <= 22, true, 'each tick goes round once at most');
select is(test.standing(:'call'), '{"s Waiting"}', 'it waits for the next one');
select bpm.cancel_process(:'call') is not null as gone \gset
select is(bpm.run_until_idle() <= 2, true, 'cancelled, it comes to rest');
select is((select string_agg(distinct w.status::text, ',') from bpm_core.workflow_instance w where w.process_instance_id = :'call'), 'Cancelled,Completed', 'for good');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select * from finish();
rollback;
