-- The standard loop: how often, what a turn sees, and that none of it hangs.
begin;
select plan(22);
create function pg_temp.looped(p_id text, p_attributes text, p_condition text) returns text language sql as
$$ select format('<serviceTask id="%1$s" bpm:type="%1$s"><standardLoopCharacteristics %2$s>%3$s</standardLoopCharacteristics></serviceTask>', p_id, p_attributes, coalesce('<loopCondition>' || p_condition || '</loopCondition>', '')) $$;
create function pg_temp.replayed(p uuid) returns boolean language sql as
$$ select not exists (select r.token_id::text, r.node_id, r.state from bpm.replay(test.workflow(p)) r
                      except select k.id::text, k.node_id, k.state::text from bpm_core.token k where k.workflow_instance_id = test.workflow(p)) $$;
create function pg_temp.progress(p uuid) returns text language sql as
$$ select string_agg(concat_ws(' ', l ->> 'node_id', l ->> 'mode', l ->> 'done', l ->> 'created', l ->> 'total'), ',') from jsonb_array_elements(bpm.get_process(p) -> 'loops') l $$;

-- Asked after each turn
select test.deploy('until', pg_temp.looped('try', '', '${ok != true}') || '<endEvent id="end"/>' || test.flows('start>try', 'try>end')) \gset
select test.start('until') as a \gset
select is(test.standing(:'a') || pg_temp.progress(:'a'), '{"try Waiting","try:loop Waiting","try:loop Loop 0 1"}', 'the first turn comes unasked');
select test.complete_next('try', '{"ok": false, "loopCounter": 17}') is not null as done \gset
select is(test.standing(:'a') || pg_temp.progress(:'a'), '{"try Waiting","try:loop Waiting","try:loop Loop 1 2"}', 'true: another one');
select is((select c.variables from bpm.claim_tasks('w', '{try}') c), '{"ok": false, "loopCounter": 1}'::jsonb, 'with its own counter');
select is((select t.outcome::text from bpm_core.task_instance i cross join lateral bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', i.id, 'fencing_token', i.fencing_token, 'variables', '{"ok": true}'::jsonb))) t where i.state = 'Executing'), 'Completed', 'done');
select is(test.status(:'a') || (select string_agg(s.mi_index || ' ' || s.state, ',' order by s.mi_index) from bpm_core.scope s), 'Completed0 Completed,1 Completed', 'false: on');
select ok(pg_temp.replayed(:'a'), 'replay');

-- Asked before
select test.deploy('while', pg_temp.looped('try', 'testBefore="true"', '${loopCounter lt n}') || '<endEvent id="end"/>' || test.flows('start>try', 'try>end')) \gset
select test.start('while', '{"n": 0}') as b \gset
select is(test.status(:'b'), 'Completed', 'not even once');
select test.start('while', '{"n": 2}') as c \gset
select test.complete_next('try') is not null as done \gset
select test.complete_next('try') is not null as done \gset
select is(test.status(:'c') || test.visits(:'c', 'try'), 'Completed2', 'the condition knows how many turns there were');
select test.start('while', '{"n": "x"}') as d \gset
select is(test.incidents(:'d'), '{"ConditionUndecidable try:loop"}', 'undecidable before');
select bpm.set_variables(:'d', '{"n": 1}') is not null as mended \gset
select bpm.resolve_incident((select i.incident_id from bpm.incident i where i.state = 'Open')) is not null as resolved \gset
select is(test.standing(:'d'), '{"try Waiting","try:loop Waiting"}', 'mended: it begins');
select test.complete_next('try', '{"n": null}') is not null as done \gset
select is(test.incidents(:'d')::text || test.standing(:'d')::text, '{"ConditionUndecidable try:loop:end"}{"try:loop Waiting","try:loop:end Failed"}', 'undecidable behind a turn');
select bpm.set_variables(:'d', '{"n": 1}') is not null as mended \gset
select bpm.resolve_incident((select i.incident_id from bpm.incident i where i.state = 'Open')) is not null as resolved \gset
select is(test.status(:'d'), 'Completed', 'mended: asked again');
select ok(pg_temp.replayed(:'d'), 'replay');

-- At most
select test.deploy('most', pg_temp.looped('try', 'loopMaximum="2"', null) || '<boundaryEvent id="bad" attachedToRef="try"><errorEventDefinition/></boundaryEvent>' || test.service('mend') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>try', 'try>end', 'bad>mend', 'mend>end2')) \gset
select test.start('most') as e \gset
select test.complete_next('try') is not null as done \gset
select is(pg_temp.progress(:'e'), 'try:loop Loop 1 2 2', 'a maximum alone');
select test.throw_next('try', 'x') is not null as thrown \gset
select is(test.standing(:'e'), '{"mend Waiting"}', 'an error ends it');
select ok(pg_temp.replayed(:'e'), 'replay');

-- Nothing waits inside
select test.deploy('spin', '<task id="step"><standardLoopCharacteristics><loopCondition>${loopCounter lt n}</loopCondition></standardLoopCharacteristics></task><endEvent id="end"/>' || test.flows('start>step', 'step>end')) \gset
select test.start('spin', '{"n": 600}') as f \gset
select is(pg_temp.progress(:'f'), 'step:loop Loop 499 500', 'past the step budget it is parked');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold in between');
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'f'), 'Completed', 'and goes on');
select bpm.set_setting('engine.loop_budget', '3000') is not null as set \gset
select test.start('spin', '{"n": 1000000}') as g \gset
select bpm.run_until_idle() as ticks \gset
select is((select string_agg(i.code, ',') from bpm.incident i where i.process_instance_id = :'g'), 'LoopBudget', 'an endless one is an incident');
select bpm.cancel_process(:'g') is not null as gone \gset

-- What is refused
select is((select string_agg(c.code || ': ' || c.message, ' ' order by c.node_id) from bpm.check_bpmn(test.bpmn('bad', '<startEvent id="start"/>' || pg_temp.looped('a', '', null) || pg_temp.looped('b', 'loopMaximum="0"', null) || pg_temp.looped('c', '', '${n +}') || '<endEvent id="z"/>' || test.flows('start>a', 'a>b', 'b>c', 'c>z'))) c where c.severity = 'fault'),
  'InvalidLoop: serviceTask "a": it is a loop with neither a condition nor a maximum, and would never end. InvalidLoop: serviceTask "b": its loopMaximum ''0'' is no number from 1 on. InvalidLoop: serviceTask "c": its loopCondition ''${n +}'' cannot be read: it ends where a value should stand (position 6).', 'each by its name');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select * from finish();
rollback;
