-- Inclusive joins: fire with one token of every flow that has brought one, as soon as nothing live can come over an empty flow any more; asked at
-- every arrival, move and death (C02 to C05). The rule against a reference: tests/properties/test_inclusive_joins.py.
begin;
select plan(75);
create function pg_temp.live(p_process_instance_id uuid) returns integer language sql as $$ select i.live_tokens from bpm.instance i where i.process_instance_id = p_process_instance_id $$;
create function pg_temp.replayed(p_process_instance_id uuid) returns text[] language sql as $$
  select coalesce(array_agg(r.node_id || ' ' || r.state order by r.node_id), '{}') from bpm.replay(test.workflow(p_process_instance_id)) r where r.state not in ('Completed', 'Terminated')
$$;
create function pg_temp.kinds(p_body text) returns jsonb language sql as $$
  select jsonb_object_agg(n.node_id, n.kind) from bpm_core.compile_text(test.bpmn('p', p_body), false, '') c cross join lateral unnest(c.nodes) n
   where n.node_id like 'g%'
$$;

-- What a gateway becomes
select is(pg_temp.kinds('<startEvent id="start"/><startEvent id="g"/>'), '{"g": "StartEvent"}', 'the helper sees');
select is(pg_temp.kinds('<startEvent id="start"/><parallelGateway id="f"/><task id="a"/><task id="b"/><inclusiveGateway id="g"/><endEvent id="end"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>g', 'b>g', 'g>end')), '{"g": "InclusiveJoin"}', 'n to 1');
select is(pg_temp.kinds('<startEvent id="start"/><parallelGateway id="f"/><task id="a"/><task id="b"/><inclusiveGateway id="g" default="g_end"/><endEvent id="end"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>g', 'b>g', 'g>end')), '{"g": "InclusiveJoin"}', 'a default that is the only flow says nothing');
select is(pg_temp.kinds('<startEvent id="start"/><parallelGateway id="f"/><task id="a"/><task id="b"/><inclusiveGateway id="g"/><endEvent id="end"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>g', 'b>g') || test.when('g>end', '${x}')), '{"g": "InclusiveJoin", "g:split": "InclusiveSplit"}', 'a condition on the only flow is decided behind it');
select is(pg_temp.kinds('<startEvent id="start"/><parallelGateway id="f"/><task id="a"/><task id="b"/><inclusiveGateway id="g"/><endEvent id="end"/><endEvent id="out"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>g', 'b>g', 'g>out') || test.when('g>end', '${x}')), '{"g": "InclusiveJoin", "g:split": "InclusiveSplit"}', 'n to n joins, then splits');

-- Some of the branches
select test.deploy('some', test.service('a') || test.service('b') || test.service('c') || test.service('after') || '<inclusiveGateway id="g"/><inclusiveGateway id="j"/><endEvent id="end"/>'
  || test.flows('start>g', 'g>c', 'a>j', 'b>j', 'c>j', 'j>after', 'after>end') || test.when('g>a', '${x > 1}') || test.when('g>b', '${x > 2}')) \gset
select is((select array_agg(format('%s %s', r.node_id, r.reach) order by r.node_id) from bpm_core.inclusive_reach r), '{"a 100","b 010","c 001","g 111","start 111"}', 'what a node can still reach');
select test.start('some', '{"x": 2}') as p \gset
select is(test.standing(:'p'), '{"a Waiting","c Waiting"}', 'two of three');
select test.complete_next('c') as c \gset
select is(test.standing(:'p') || pg_temp.replayed(:'p'), '{"a Waiting","j Waiting","a Waiting","j Waiting"}', 'it waits for the other');
select is((select array_agg(format('%s %s %s', j.round, j.waiting, j.filled)) from bpm_core.inclusive_join j), '{"1 1 001"}', 'and knows what it has');
select test.complete_next('a') as a \gset
select is(test.standing(:'p') || pg_temp.live(:'p')::text, '{"after Waiting",1}', 'not for the third: one token goes on');
select is((select array_agg(x order by x) from unnest(test.history(:'p', '%Join%')) x) || test.history(:'p', 'TokenCompleted') || pg_temp.replayed(:'p'), '{"JoinFired 1","JoinReached 2","TokenCompleted 1","after Waiting"}', 'history and replay say so');
select is((select format('%s/%s', j.joined, j.expected) from bpm_core.parallel_join j), '2/2', 'it took what there was');
select test.complete_next('after') as after \gset
select is(test.status(:'p') || pg_temp.live(:'p'), 'Completed0', 'it ends');
select test.start('some', '{"x": 0}') as q \gset
select test.complete_next('c') as c \gset
select is(test.standing(:'q'), '{"after Waiting"}', 'a single one passes at once');
select test.start('some', '{"x": 3}') as r \gset
select c.tasks from bpm.claim_tasks_at('w', '{a,b,c}', 3) c \gset
select count(*) as done from bpm.complete_tasks(test.items(:'tasks')) \gset
select is((select array_agg(t.node_id || t.state) from bpm_core.token t where t.workflow_instance_id = test.workflow(:'r') and t.state = 'Waiting'), '{afterWaiting}', 'all in one call');

-- What ended is not fired
select test.start('some', '{"x": 2}') as p \gset
select test.complete_next('c') as c \gset
select bpm.cancel_process(:'p') is not null as cancelled \gset
select is((select cardinality(bpm_core.fire_inclusive_joins(array[row('', test.workflow(:'p'), null, '00000000-0000-0000-0000-000000000000', null, null, null, null)::bpm_core.moving]))), 0, 'a cancelled instance');
select is((select j.waiting from bpm_core.inclusive_join j where j.workflow_instance_id = test.workflow(:'p')), 0, 'whose join waits for nothing');

-- I-06 sees what is wrong with one
select test.start('some', '{"x": 3}') as v \gset
select test.complete_next('b') as b, test.complete_next('c') as c \gset
create function pg_temp.v() returns uuid language sql as $$ select j.workflow_instance_id from bpm_core.inclusive_join j where j.waiting = 2 $$;
select is_empty($$select * from bpm.check_invariants('')$$, 'two wait: invariants hold');
select test.breaks($$update bpm_core.inclusive_join set waiting = 3 where workflow_instance_id = pg_temp.v()$$, '{I-06}', 'too many');
select test.breaks($$update bpm_core.inclusive_join set filled = '010' where workflow_instance_id = pg_temp.v()$$, '{I-06}', 'too few flows');
select test.breaks($$update bpm_core.token set state = 'Failed' where workflow_instance_id = pg_temp.v() and via_flow_id = 'c_j'$$, '{I-06,I-14}', 'one that does not wait');
select test.breaks($$update bpm_core.token set node_id = 'end' where workflow_instance_id = pg_temp.v() and node_id = 'a'$$, '{I-06,I-07,I-14}', 'what it waits for is elsewhere');
select test.breaks($$update bpm_core.parallel_join_arrival set round = 0 where workflow_instance_id = pg_temp.v() and flow_id = 'c_j'$$, '{I-06}', 'an arrival of no round');
select test.breaks($$insert into bpm_core.parallel_join values ('', pg_temp.v(), '00000000-0000-0000-0000-000000000000', 'j', 1, null, 2, 2, null)$$, '{I-06}', 'a round that did not fire');
select test.breaks($$insert into bpm_core.parallel_join values ('', pg_temp.v(), '00000000-0000-0000-0000-000000000000', 'j', 1, null, 2, 2, bpm_core.now())$$, '{I-06}', 'one that fired unheard');
select test.complete_next('a') as a, test.complete_next('after') as after \gset
select test.breaks($$update bpm_core.parallel_join set expected = 4, joined = 4 where joined = 3$$, '{I-06}', 'more than there are flows');

-- A branch that can no longer come (C03): by an error boundary, a timer boundary, a choice, in every order; and when it stops it is still live
select test.deploy('dies', test.service('a') || test.service('b', 'bpm:retries="1"') || test.timer('late', '<timeDuration>PT1M</timeDuration>', 'b')
  || '<boundaryEvent id="oops" attachedToRef="b"><errorEventDefinition errorRef="e"/></boundaryEvent>' || test.service('mend')
  || '<parallelGateway id="f"/><exclusiveGateway id="x" default="x_j"/><inclusiveGateway id="j"/>' || test.service('after') || '<endEvent id="end"/><endEvent id="out"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>j', 'b>x', 'x>j', 'oops>out', 'late>mend', 'mend>out', 'j>after', 'after>end') || test.when('x>out', '${leave == true}'), '<error id="e" errorCode="E"/>') \gset
select test.start('dies') as p \gset
select test.complete_next('a') as a, test.throw_next('b', 'E') as b \gset
select is(test.standing(:'p'), '{"after Waiting"}', 'it left by an error boundary and ended: the join fires');
select test.start('dies') as p \gset
select test.throw_next('b', 'E') as b, test.complete_next('a') as a \gset
select is((select array_agg(distinct n.x) from unnest(test.standing(:'p')) n(x)), '{"after Waiting"}', 'or before the other came');
select test.start('dies') as p \gset
select test.complete_next('a') as a \gset
select bpm.advance_clock(interval '61 seconds') is not null as moved \gset
select test.tick('timers') as fired \gset
select is(test.standing(:'p'), '{"after Waiting","mend Waiting"}', 'it left by a timer boundary and lives on where it cannot come back: the join fires');
select test.start('dies') as p \gset
select test.complete_next('a') as a, test.complete_next('b', '{"leave": true}') as b \gset
select is(test.standing(:'p'), '{"after Waiting"}', 'it chose another way');
select test.start('dies') as p \gset
select test.complete_next('a') as a, test.fail_next('b') as b \gset
select is(test.standing(:'p') || test.incidents(:'p'), '{"b Failed","j Waiting","AttemptsExhausted b"}', 'one that stopped is live: the join waits for it');
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'p' \gset
select test.complete_next('b') as b \gset
select is(test.standing(:'p'), '{"after Waiting"}', 'until it was driven again');

-- Two over the same flow (C02): one per flow and round, the surplus goes in the next, alone if need be
select test.deploy('surplus', test.service('a') || test.timer('again', '<timeDuration>PT1M</timeDuration>', 'a', false) || test.service('b') || test.service('after')
  || '<parallelGateway id="f"/><exclusiveGateway id="m"/><inclusiveGateway id="j"/><endEvent id="end"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>m', 'again>m', 'm>j', 'b>j', 'j>after', 'after>end')) \gset
select test.start('surplus') as s \gset
select bpm.advance_clock(interval '61 seconds') is not null as moved \gset
select test.tick('timers') as fired \gset
select is(test.standing(:'s'), '{"a Waiting","b Waiting","j Waiting"}', 'one is there; b can come over an empty flow');
select test.complete_next('a') as a \gset
select is(test.standing(:'s'), '{"b Waiting","j Waiting","j Waiting"}', 'two over one flow');
select test.complete_next('b') as b \gset
select is(test.standing(:'s') || pg_temp.live(:'s')::text, '{"after Waiting","after Waiting",2}', 'one round with both flows, then one with the surplus: nothing else can come');
select is((select array_agg(j.round || ':' || j.joined order by j.round) from bpm_core.parallel_join j where j.workflow_instance_id = test.workflow(:'s')), '{1:2,2:1}', 'as the rounds say');
select is((select array_agg(h.detail ->> 'round' order by h.seq) from bpm.get_history(:'s') h where h.kind in ('JoinReached', 'JoinFired')), '{1,2,1,1,2}', 'each was told its round when it came');

-- A token that can also come over a filled flow does not hold the join up (the second clause)
select test.deploy('either', test.service('a') || test.service('b') || test.service('after') || '<parallelGateway id="f"/><exclusiveGateway id="m"/><exclusiveGateway id="x" default="x_m"/><inclusiveGateway id="j"/><endEvent id="end"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>m', 'm>j', 'b>x', 'x>m', 'j>after', 'after>end') || test.when('x>j', '${other == true}')) \gset
select test.start('either') as e \gset
select test.complete_next('a') as a \gset
select is(test.standing(:'e'), '{"after Waiting","b Waiting"}', 'b could come over either flow: fired without it');
select test.complete_next('b', '{"other": true}') as b \gset
select is(test.standing(:'e'), '{"after Waiting","after Waiting"}', 'it comes later and passes alone');

-- Two joins in a row: the second waits for what the first sends; a loop around a join; the loop of a branch before it
select test.deploy('rows', test.service('a') || test.service('b') || test.service('c') || '<parallelGateway id="f"/><exclusiveGateway id="x" default="x_j1"/><inclusiveGateway id="j1"/><inclusiveGateway id="j2"/><endEvent id="end"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'f>c', 'a>x', 'x>j1', 'b>j1', 'c>j2', 'j1>j2', 'j2>end') || test.when('x>a', '${n < 3}')) \gset
select test.start('rows', '{"n": 1}') as w \gset
select test.complete_next('c') as c, test.complete_next('b') as b, test.complete_next('a', '{"n": 2}') as a \gset
select is(test.standing(:'w'), '{"a Waiting","j1 Waiting","j2 Waiting"}', 'the branch went round: both wait');
select test.complete_next('a', '{"n": 3}') as a \gset
select is(test.status(:'w') || (select array_agg(h.node_id order by h.seq) from bpm.get_history(:'w') h where h.kind = 'JoinFired')::text, 'Completed{j1,j2}', 'then one after the other, in one command');
select test.deploy('round', test.service('a') || test.service('b') || test.service('count') || '<exclusiveGateway id="m"/><inclusiveGateway id="s"/><inclusiveGateway id="j"/><exclusiveGateway id="x" default="x_end"/><endEvent id="end"/>'
  || test.flows('start>m', 'm>s', 's>a', 'a>j', 'b>j', 'j>count', 'count>x', 'x>end') || test.when('s>b', '${n != 2}') || test.when('x>m', '${n < 4}')) \gset
select test.start('round', '{"n": 1}') as o \gset
create function pg_temp.one_round(p_n integer) returns text language plpgsql as $$
begin
  perform test.complete_next('a');
  perform test.complete_next('b');
  perform test.complete_next('count', jsonb_build_object('n', p_n));
  return '';
end $$;
select pg_temp.one_round(2) || pg_temp.one_round(3) || pg_temp.one_round(4) as rounds \gset
select is(test.status(:'o') || (select array_agg(j.round || ':' || j.joined order by j.round)::text from bpm_core.parallel_join j where j.workflow_instance_id = test.workflow(:'o')), 'Completed{1:2,2:1,3:2}', 'round by round what was there');

-- The join inside its own circle: what it sent on may come back over its other flow
select test.deploy('circle', test.service('a') || test.service('b') || '<parallelGateway id="f"/><inclusiveGateway id="j"/><exclusiveGateway id="x" default="x_end"/><endEvent id="end"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>j', 'b>x', 'j>x', 'x>end') || test.when('x>j', '${back == true}')) \gset
select is((select array_agg(format('%s %s', r.node_id, r.reach) order by r.node_id) from bpm_core.inclusive_reach r join bpm_core.workflow_version v on v.id = r.workflow_version_id
            join bpm_core.workflow_definition d on d.id = v.definition_id where d.code = 'circle'), '{"a 10","b 01","f 11","j 01","start 11","x 01"}', 'over the join itself leads no way');
select test.start('circle', '{"back": true}') as i \gset
select test.complete_next('a') as a \gset
select is(test.standing(:'i'), '{"b Waiting","j Waiting"}', 'b can come over the other flow');
select test.complete_next('b', '{"back": false}') as b \gset
select is(test.status(:'i'), 'Completed', 'it went to the end: the join fires, and what it sent ends, too');

-- Joins that wait for each other never fire by the standard: an incident, not a silent stop; a parallel join that starves holds up an inclusive one
select test.deploy('mutual', test.service('a') || test.service('b') || '<parallelGateway id="f"/><inclusiveGateway id="j1"/><inclusiveGateway id="j2"/><exclusiveGateway id="x1" default="x1_end"/><exclusiveGateway id="x2" default="x2_end"/><endEvent id="end"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>j1', 'b>j2', 'j1>x1', 'j2>x2', 'x1>end', 'x2>end') || test.when('x1>j2', '${y}') || test.when('x2>j1', '${y}')) \gset
select test.start('mutual', '{"y": true}') as u \gset
select test.complete_next('a') as a \gset
select is(test.standing(:'u') || test.incidents(:'u'), '{"b Waiting","j1 Waiting"}', 'the one waits for the other');
select test.complete_next('b') as b \gset
select is(test.standing(:'u') || test.incidents(:'u') || test.status(:'u'), '{"j1 Waiting","j2 Waiting","JoinStarved j1",Running}', 'and the other for the one');
select is((select i.detail -> 'joins' from bpm.incident i where i.process_instance_id = :'u'),
  '[{"node": "j1", "round": 1, "joined": 1, "expected": 2}, {"node": "j2", "round": 1, "joined": 1, "expected": 2}]'::jsonb, 'which names both');
select bpm.cancel_process(:'u') is not null as cancelled \gset
select test.deploy('behind', test.service('a') || test.service('b') || test.service('c') || '<parallelGateway id="f"/><exclusiveGateway id="x" default="x_p"/><parallelGateway id="p"/><inclusiveGateway id="j"/><endEvent id="end"/><endEvent id="out"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'f>c', 'a>p', 'b>x', 'x>p', 'p>j', 'c>j', 'j>end') || test.when('x>out', '${leave == true}')) \gset
select test.start('behind') as d \gset
select test.complete_next('a') as a, test.complete_next('c') as c, test.complete_next('b', '{"leave": true}') as b \gset
select is(test.standing(:'d') || test.incidents(:'d'), '{"j Waiting","p Waiting","JoinStarved p"}', 'a token that starves at a parallel join is live');

-- Joins, then splits: every true flow behind, the default, an incident (C04, C05)
select test.deploy('both', test.service('a') || test.service('b') || test.service('c') || test.service('d') || test.service('e') || '<parallelGateway id="f"/><inclusiveGateway id="g" default="g_e"/><endEvent id="end"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>g', 'b>g', 'c>end', 'd>end', 'e>end') || test.when('g>c', '${x > 1}') || test.when('g>d', '${x > 2}') || test.when('g>e', '${never}')) \gset
select test.start('both', '{"x": 3}') as p \gset
select test.complete_next('a') as a, test.complete_next('b') as b \gset
select is(test.standing(:'p'), '{"c Waiting","d Waiting"}', 'every true flow');
select test.start('both', '{"x": 0}') as q \gset
select test.complete_next('a') as a, test.complete_next('b') as b \gset
select is(test.standing(:'q'), '{"e Waiting"}', 'the default, whose own condition is ignored');
select test.start('both', '{"x": "three"}') as r \gset
select test.complete_next('a') as a, test.complete_next('b') as b \gset
select is(test.standing(:'r') || test.incidents(:'r'), '{"g:split Failed","ConditionUndecidable g:split"}', 'undecidable: it stops behind the join, which fired');
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'r' \gset
select is(test.incidents(:'r') || (select count(*) from bpm.incident i where i.process_instance_id = :'r')::text, '{"ConditionUndecidable g:split",2}', 'resolved without a mend: a new incident');
select bpm.set_variables(:'r', '{"x": 2}') is not null as mended \gset
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'r' and i.state = 'Open' \gset
select is(test.standing(:'r'), '{"c Waiting"}', 'mended: it goes on from there');

select test.deploy('single', test.service('a') || test.service('b') || test.service('c') || '<parallelGateway id="f"/><inclusiveGateway id="g"/><endEvent id="end"/>'
  || test.flows('start>f', 'f>a', 'f>b', 'a>g', 'b>g', 'c>end') || test.when('g>c', '${x > 1}')) \gset
select test.start('single', '{"x": 0}') as p \gset
select test.complete_next('a') as a, test.complete_next('b') as b \gset
select is(test.standing(:'p') || test.incidents(:'p'), '{"g:split Failed","NoFlowTrue g:split"}', 'one flow whose condition is false, and no default: an incident');
select bpm.set_variables(:'p', '{"x": 2}') is not null as mended \gset
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'p' \gset
select is(test.standing(:'p'), '{"c Waiting"}', 'mended: the same token goes on');

-- A token parked before the join or on its way is live, and comes over the flow it is on
select test.deploy('parked', test.service('a') || '<parallelGateway id="f"/><manualTask id="spin"/><exclusiveGateway id="x" default="x_spin"/><inclusiveGateway id="j"/><endEvent id="end"/><endEvent id="out"/>'
  || test.flows('start>f', 'f>a', 'f>spin', 'spin>x', 'x>spin', 'a>j', 'j>end') || test.when('x>out', '${leave == true}') || test.when('x>j', '${come == true}')) \gset
select test.start('parked') as k \gset
select test.complete_next('a') as a \gset
select is((select array_agg(t.state order by t.state)::text[] from bpm_core.token t where t.workflow_instance_id = test.workflow(:'k') and t.state in ('Ready', 'Waiting')), '{Ready,Waiting}', 'parked: the join waits');
select bpm.set_variables(:'k', '{"leave": true}') is not null as left \gset
select test.tick('tokens') as ticked \gset
select is(test.status(:'k'), 'Completed', 'tick drove it away: the join fires');
select test.start('parked') as k \gset
select test.complete_next('a') as a \gset
update bpm_core.token t set node_id = 'j', via_flow_id = 'x_j' where t.workflow_instance_id = test.workflow(:'k') and t.state = 'Ready';
select is((select count(*) from bpm_core.unsettled_inclusive_joins('')), 0::bigint, 'parked before the join it is not there yet');
select is((select cardinality(bpm_core.fire_inclusive_joins(array[row(t.tenant_id, t.workflow_instance_id, null, t.scope_id, null, null, null, null)::bpm_core.moving]))
             from bpm_core.token t where t.workflow_instance_id = test.workflow(:'k') and t.state = 'Ready'), 0, 'but holds it up');
select test.tick('tokens') as ticked \gset
select is(test.status(:'k') || (select j.joined from bpm_core.parallel_join j where j.workflow_instance_id = test.workflow(:'k')), 'Completed2', 'until it is');

-- Sub-processes: tokens inside stand at their host; what leaves a sub-process, ends it or ends it from outside is seen by the joins around it
create function pg_temp.inside(p_body text, p_attributes text default 'id="sub"') returns text language sql as $$ select format('<subProcess %s>%s</subProcess>', p_attributes, p_body) $$;
select test.deploy('around', test.service('a') || test.service('after') || pg_temp.inside('<startEvent id="s1"/>' || test.service('t') || '<endEvent id="e1"/><endEvent id="e2"><errorEventDefinition errorRef="e"/></endEvent><exclusiveGateway id="x" default="x_e1"/>'
    || test.flows('s1>t', 't>x', 'x>e1') || test.when('x>e2', '${bad == true}'))
  || '<boundaryEvent id="oops" attachedToRef="sub"><errorEventDefinition errorRef="e"/></boundaryEvent>' || test.timer('late', '<timeDuration>PT1M</timeDuration>', 'sub')
  || '<parallelGateway id="f"/><inclusiveGateway id="j"/><endEvent id="end"/><endEvent id="out"/>'
  || test.flows('start>f', 'f>a', 'f>sub', 'a>j', 'sub>j', 'j>after', 'after>end', 'oops>out', 'late>out'), '<error id="e" errorCode="E"/>') \gset
select test.start('around') as p \gset
select test.complete_next('a') as a \gset
select is(test.standing(:'p'), '{"j Waiting","sub Waiting","t Waiting"}', 'the token inside holds the join outside up');
select test.complete_next('t') as t \gset
select is(test.standing(:'p') || (select j.joined::text from bpm_core.parallel_join j where j.workflow_instance_id = test.workflow(:'p')), '{"after Waiting",2}', 'until the sub-process ends and goes on to it');
select test.start('around') as p \gset
select test.complete_next('a') as a, test.complete_next('t', '{"bad": true}') as t \gset
select is(test.standing(:'p'), '{"after Waiting"}', 'an error inside takes the host away: the join fires');
select test.start('around') as p \gset
select test.complete_next('a') as a, bpm.advance_clock(interval '61 seconds') is not null as moved \gset
select test.tick('timers') as fired \gset
select is(test.standing(:'p'), '{"after Waiting"}', 'so does a timer at the sub-process');
select test.start('around') as p \gset
select test.complete_next('a') as a, test.throw_next('t', 'E') as t \gset
select is(test.standing(:'p'), '{"after Waiting"}', 'and an error its worker throws');

select test.deploy('within', test.service('before') || pg_temp.inside('<startEvent id="s1"/><parallelGateway id="f1"/><inclusiveGateway id="j1"/><endEvent id="e1"/><endEvent id="stop"><terminateEventDefinition/></endEvent><exclusiveGateway id="x" default="x_j1"/>'
    || test.service('t') || test.service('u') || test.service('v') || test.flows('s1>f1', 'f1>t', 'f1>u', 't>x', 'x>j1', 'u>j1', 'j1>v', 'v>e1') || test.when('x>stop', '${n == 1}') || test.when('x>e1', '${n == 2}'))
  || test.timer('late', '<timeDuration>PT1M</timeDuration>', 'sub') || '<exclusiveGateway id="m"/><endEvent id="end"/>' || test.service('after')
  || test.flows('start>before', 'before>m', 'm>sub', 'late>m', 'sub>after', 'after>end')) \gset
select test.start('within') as p \gset
select test.complete_next('before') as b, test.complete_next('u') as u \gset
select bpm.advance_clock(interval '61 seconds') is not null as moved \gset
select test.tick('timers') as fired \gset
select is(test.standing(:'p'), '{"sub Waiting","t Waiting","u Waiting"}', 'interrupted and entered again: a join inside is new each time');
select test.complete_next('t', '{"n": 2}') as t, test.complete_next('u') as u \gset
select is(test.standing(:'p'), '{"sub Waiting","v Waiting"}', 'one branch left: it fires');
select test.complete_next('v') as v \gset
select is(test.standing(:'p'), '{"after Waiting"}', 'and the sub-process ends');
select test.start('within') as p \gset
select test.complete_next('before') as b, test.complete_next('u') as u, test.complete_next('t', '{"n": 1}') as t \gset
select is((select array_agg(distinct n.x) from unnest(test.standing(:'p')) n(x)), '{"after Waiting"}', 'a terminate end inside takes what waits at the join with it');

-- An event sub-process beside: its end may leave only what waits at joins
select test.deploy('beside', pg_temp.inside('<startEvent id="s1"/><parallelGateway id="f1"/><parallelGateway id="j1"/><endEvent id="e1"/><exclusiveGateway id="x" default="x_j1"/>'
    || test.service('t') || test.service('u') || test.flows('s1>f1', 'f1>t', 'f1>u', 't>x', 'x>j1', 'u>j1', 'j1>e1') || test.when('x>e1', '${n == 2}')
    || pg_temp.inside('<startEvent id="s2" isInterrupting="false"><timerEventDefinition><timeDuration>PT1M</timeDuration></timerEventDefinition></startEvent>' || test.service('w') || '<endEvent id="e2"/>'
                      || test.flows('s2>w', 'w>e2'), 'id="es" triggeredByEvent="true"'))
  || '<endEvent id="end"/>' || test.flows('start>sub', 'sub>end')) \gset
select test.start('beside') as p \gset
select bpm.advance_clock(interval '61 seconds') is not null as moved \gset
select test.tick('timers') as fired \gset
select test.complete_next('u') as u, test.complete_next('t', '{"n": 2}') as t \gset
select is(test.standing(:'p') || test.incidents(:'p'), '{"es Waiting","j1 Waiting","sub Waiting","w Waiting"}', 'something beside still runs');
select test.complete_next('w') as w \gset
select is(test.standing(:'p') || test.incidents(:'p'), '{"j1 Waiting","sub Waiting","JoinStarved j1"}', 'then nothing does: the join starves');

-- A token that raises stops where it arrived; if that is past the join, the join fires, and what it sends on may raise in turn
select test.deploy('raises', test.service('a') || test.service('b') || test.service('o') || test.service('after') || '<boundaryEvent id="oops" attachedToRef="b"><errorEventDefinition errorRef="e"/></boundaryEvent>'
  || '<parallelGateway id="f"/><inclusiveGateway id="j"/><endEvent id="end"/>' || test.flows('start>f', 'f>a', 'f>b', 'a>j', 'b>j', 'oops>o', 'o>end', 'j>after', 'after>end'), '<error id="e" errorCode="E"/>') \gset
create function pg_temp.refuse() returns trigger language plpgsql as $$
begin
  if exists (select from bpm.instance i where i.workflow_instance_id = new.workflow_instance_id and i.variables -> 'bad' ? new.node_id) then
    raise 'no room for task %', new.node_id;
  end if;
  return new;
end $$;
create trigger refuse before insert on bpm_core.task_instance for each row execute function pg_temp.refuse();
select test.start('raises', '{"bad": ["o"]}') as p \gset
select test.complete_next('a') as a, test.throw_next('b', 'E') as b \gset
select is(test.standing(:'p') || test.incidents(:'p'), '{"after Waiting","o Failed","AdvanceFailed o"}', 'stopped beyond the join: it fires');
select test.start('raises', '{"bad": ["o", "after"]}') as q \gset
select test.complete_next('a') as a, test.throw_next('b', 'E') as b \gset
select is(test.standing(:'q') || (select array_agg(x order by x) from unnest(test.incidents(:'q')) x), '{"after Failed","o Failed","AdvanceFailed after","AdvanceFailed o"}', 'each incident on the token it concerns');
drop trigger refuse on bpm_core.task_instance;

select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
