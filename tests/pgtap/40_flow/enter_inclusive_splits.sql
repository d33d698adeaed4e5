-- Inclusive splits, drawn as gateways or implied by conditional flows out of a task: every true flow, else the default, else an incident (C04).
begin;
select plan(25);
create function pg_temp.flow_born(p_process_instance_id uuid) returns text[] language sql as
$$ select coalesce(array_agg(h.detail ->> 'flow' order by h.detail ->> 'flow'), '{}') from bpm.get_history(p_process_instance_id) h where h.kind = 'TokenBorn' $$;
create function pg_temp.kinds(p_body text) returns jsonb language sql as $$
  select jsonb_object_agg(n.node_id, n.kind) from bpm_core.compile_text(test.bpmn('p', p_body), false, '') c cross join lateral unnest(c.nodes) n where n.kind not in ('EndEvent', 'StartEvent')
$$;
select test.deploy('split', '<inclusiveGateway id="g" default="g_d"/>' || test.service('a') || test.service('b') || test.service('d') || '<endEvent id="end"/>'
  || test.when('g>a', '${x > 1}') || test.when('g>b', '${x > 2}') || test.flows('start>g', 'g>d', 'a>end', 'b>end', 'd>end')) \gset

select test.start('split', '{"x": 3}') as p \gset
select is(test.standing(:'p'), '{"a Waiting","b Waiting"}', 'every true flow');
select is((select i.live_tokens from bpm.instance i where i.process_instance_id = :'p'), 2, 'a token each');
select is(test.history(:'p', 'Token%') || pg_temp.flow_born(:'p'), '{"TokenForked 1","TokenBorn 2",g_a,g_b}', 'history has the fork and its flows');
select is((select array_agg(r.node_id || ' ' || r.state order by r.node_id) from bpm.replay(test.workflow(:'p')) r), '{"a Waiting","b Waiting","g Completed"}', 'replay says so, too');
select test.complete_next('a') as a, test.complete_next('b') as b \gset
select is(test.status(:'p'), 'Completed', 'it ends with the last');
select test.start('split', '{"x": 2}') as q \gset
select is(test.standing(:'q'), '{"a Waiting"}', 'one true flow: one token');
select is((select i.live_tokens from bpm.instance i where i.process_instance_id = :'q'), 1, 'no more, no less');
select test.start('split', '{"x": 0}') as r \gset
select is(test.standing(:'r'), '{"d Waiting"}', 'none: the default');

-- The default's own condition is ignored (C05)
select test.deploy('own', '<inclusiveGateway id="g" default="g_d"/>' || test.service('a') || test.service('d') || '<endEvent id="end"/>' || test.when('g>a', '${x > 1}') || test.when('g>d', '${x > 5}') || test.flows('start>g', 'a>end', 'd>end')) \gset
select test.start('own', '{"x": 0}') as o1, test.start('own', '{"x": 9}') as o2 \gset
select is(test.standing(:'o1')::text || test.standing(:'o2')::text, '{"d Waiting"}{"a Waiting"}', 'the default by its place, whatever its condition says');

-- Undecidable: an incident, none of the flows; resolved without a mend, a new one at once (C04)
select test.start('split') as s \gset
select is(test.standing(:'s') || test.incidents(:'s'), '{"g Failed","ConditionUndecidable g"}', 'a missing variable stops it');
select is((select i.detail #>> '{seen,0,path}' is not null or i.detail ->> 'flow' = 'g_a' from bpm.incident i where i.process_instance_id = :'s'), true, 'and is named');
select x.incident_id as first from bpm.incident x where x.process_instance_id = :'s' \gset
select bpm.resolve_incident(:'first') is not null as resolved \gset
select is(test.standing(:'s') || test.incidents(:'s') || (select count(*) from bpm.incident i where i.process_instance_id = :'s')::text, '{"g Failed","ConditionUndecidable g",2}', 'resolved without a mend: a new incident, never a silent stop');
select bpm.set_variables(:'s', '{"x": 9}') is not null as mended \gset
select bpm.resolve_incident(x.incident_id) is not null as resolved from bpm.incident x where x.process_instance_id = :'s' and x.state = 'Open' \gset
select is(test.standing(:'s'), '{"a Waiting","b Waiting"}', 'mended, it splits');
select test.deploy('half', '<inclusiveGateway id="g"/>' || test.service('c') || test.service('e') || '<endEvent id="end"/>' || test.when('g>c', '${known}') || test.when('g>e', '${n > 1}') || test.flows('start>g', 'c>end', 'e>end')) \gset
select test.start('half', '{"known": true}') as t \gset
select is(test.standing(:'t') || test.incidents(:'t'), '{"g Failed","ConditionUndecidable g"}', 'a true flow is not taken while another cannot be decided');
select test.start('half', '{"known": false, "n": 0}') as u \gset
select is(test.standing(:'u') || test.incidents(:'u'), '{"g Failed","NoFlowTrue g"}', 'none true and no default: an incident');
select is((select count(*) from bpm_core.token k where k.workflow_instance_id in (test.workflow(:'t'), test.workflow(:'u'))), 2::bigint, 'nothing was born');

-- A flow without a condition is always taken; what a task implies
select test.deploy('task', test.service('w') || test.service('always') || test.service('f') || '<endEvent id="end"/>' || test.when('w>f', '${big}') || test.flows('start>w', 'w>always', 'always>end', 'f>end')) \gset
select test.start('task') as v, test.start('task') as w \gset
select test.complete_next('w', '{"big": true}') as one, test.complete_next('w', '{"big": false}') as two \gset
select is((select array_agg(test.standing(x.id)::text order by cardinality(test.standing(x.id))) from (values (:'v'::uuid), (:'w'::uuid)) x(id)), '{"{\"always Waiting\"}","{\"always Waiting\",\"f Waiting\"}"}', 'a plain flow beside a conditional one');
select is((select array_agg(h.node_id order by h.seq) from bpm.get_history(:'v') h where h.kind = 'TokenForked'), '{w:inclusive}', 'behind the task');
select is(pg_temp.kinds(x.body || '<endEvent id="e"/>' || x.flows), x.kinds::jsonb, x.label)
  from (values
    ('<inclusiveGateway id="g"/>', test.flows('g>e'), '{"g": "PassThrough"}', 'one flow in, one out'),
    ('<inclusiveGateway id="g"/><task id="a"/>', test.flows('g>e', 'g>a'), '{"g": "InclusiveSplit", "a": "PassThrough"}', 'a split'),
    ('<task id="a"/>', test.when('a>e', '${x}'), '{"a": "PassThrough", "a:choice": "ExclusiveGateway"}', 'one conditional flow is a choice as before'),
    ('<task id="a"/><task id="b"/>', test.when('a>e', '${x}') || test.when('a>b', '${y}'), '{"a": "PassThrough", "b": "PassThrough", "a:inclusive": "InclusiveSplit"}', 'two are an inclusive split'),
    ('<task id="a"/><task id="b"/><inclusiveGateway id="g"/>', test.flows('a>g', 'b>g', 'g>e'), '{"a": "PassThrough", "b": "PassThrough", "g": "InclusiveJoin"}', 'a join')) x (body, flows, kinds, label);

-- Many at once
select count(x.*) as started from bpm.start_processes((select jsonb_agg(jsonb_build_object('code', 'split', 'variables', jsonb_build_object('x', n % 4), 'business_key', 'M-' || n)) from generate_series(1, 40) n)) x \gset
select is((select array_agg(x.node_id || ' ' || x.n order by x.node_id) from (select k.node_id, count(*) as n from bpm_core.token k join bpm.instance i on i.workflow_instance_id = k.workflow_instance_id where i.business_key like 'M-%' and k.state = 'Waiting' group by 1) x), '{"a 20","b 10","d 20"}', 'forty at once: each by its own values');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
