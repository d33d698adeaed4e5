-- Parallel fork and join: one token per outgoing flow; a join fires once per round, with one token of every distinct incoming flow.
begin;
select plan(32);
create function pg_temp.live(p_process_instance_id uuid) returns integer language sql as $$ select i.live_tokens from bpm.instance i where i.process_instance_id = p_process_instance_id $$;

-- Plain
select test.deploy('plain', test.service('a') || test.service('b') || test.service('c') || '<parallelGateway id="fork"/><parallelGateway id="join"/>' || test.service('after') || '<endEvent id="end"/>'
  || test.flows('start>fork', 'fork>a', 'fork>b', 'fork>c', 'a>join', 'b>join', 'c>join', 'join>after', 'after>end')) \gset
select test.start('plain') as p \gset
select is(test.standing(:'p'), '{"a Waiting","b Waiting","c Waiting"}', 'one token per outgoing flow');
select is(pg_temp.live(:'p'), 3, 'three are live, the forked one is not');
select is((select array_agg(x order by x) from unnest(test.history(:'p')) x), '{"InstanceStarted 1","TokenBorn 3","TokenForked 1"}', 'history has their births');
select is((select count(distinct t.parallel_group_id) || ' ' || count(*) from bpm_core.token t where t.workflow_instance_id = test.workflow(:'p') and t.parallel_group_id is not null), '1 3', 'one group');
select test.complete_next('b') as b \gset
select is(test.standing(:'p'), '{"a Waiting","c Waiting","join Waiting"}', 'the first to arrive waits at the join');
select test.complete_next('a') as a \gset
select is(test.standing(:'p'), '{"c Waiting","join Waiting","join Waiting"}', 'so does the second');
select test.complete_next('c') as c \gset
select is(test.standing(:'p'), '{"after Waiting"}', 'with the last it fires, once');
select is(pg_temp.live(:'p'), 1, 'one token goes on');
select is((select array_agg(x order by x) from unnest(test.history(:'p', '%Join%')) x) || (select array_agg(x) from unnest(test.history(:'p', 'TokenCompleted')) x), '{"JoinFired 1","JoinReached 3","TokenCompleted 2"}', 'the others are consumed');
select test.complete_next('after') as d \gset
select is(test.status(:'p'), 'Completed', 'it ends');

-- The same flow twice waits; surplus is for the next round (C02)
select test.deploy('twice', test.service('a') || test.timer('again', '<timeDuration>PT1M</timeDuration>', 'a', false) || test.service('b') || '<parallelGateway id="fork"/><exclusiveGateway id="merge"/>'
  || '<parallelGateway id="join"/>' || test.service('after') || '<endEvent id="end"/>'
  || test.flows('start>fork', 'fork>a', 'fork>b', 'a>merge', 'again>merge', 'merge>join', 'b>join', 'join>after', 'after>end')) \gset
select test.start('twice') as t \gset
select bpm.advance_clock(interval '61 seconds') is not null as moved \gset
select test.tick('timers') as fired \gset
select is(test.standing(:'t'), '{"a Waiting","b Waiting","join Waiting"}', 'the timer''s token arrives over the flow of a');
select test.complete_next('a') as a \gset
select is(test.standing(:'t'), '{"b Waiting","join Waiting","join Waiting"}', 'two tokens over the same flow: the join waits for the other flow');
select test.complete_next('b') as b \gset
select is(test.standing(:'t'), '{"after Waiting","join Waiting"}', 'it fires with one of each; the surplus stays for the next round');
select is(test.incidents(:'t'), '{}', 'which may still come while something is live');
select test.complete_next('after') as c \gset
select is(test.standing(:'t') || test.incidents(:'t') || test.status(:'t'), '{"join Waiting","JoinStarved join",Running}', 'when nothing can bring it any more it is an incident, not a silent stop');

-- Loops that enter again
select test.deploy('loop', test.service('a') || test.service('b') || '<parallelGateway id="fork"/><parallelGateway id="join"/><exclusiveGateway id="enter"/><exclusiveGateway id="again" default="again_end"/><endEvent id="end"/>'
  || test.flows('start>enter', 'enter>fork', 'fork>a', 'fork>b', 'a>join', 'b>join', 'join>again', 'again>end') || test.when('again>enter', '${more == true}')) \gset
select test.start('loop', '{"more": true}') as l \gset
select test.complete_next('a') as a1, test.complete_next('b') as b1 \gset
select is(test.standing(:'l'), '{"a Waiting","b Waiting"}', 'the second round begins');
select test.complete_next('b') as b2 \gset
select is(test.standing(:'l'), '{"a Waiting","join Waiting"}', 'what the first round brought does not count in the second');
select test.complete_next('a', '{"more": false}') as a2 \gset
select is(test.status(:'l'), 'Completed', 'the second round fires');
select is((select array_agg(j.round || ':' || j.joined || '/' || j.expected order by j.round) from bpm_core.parallel_join j where j.workflow_instance_id = test.workflow(:'l')), '{1:2/2,2:2/2}', 'two rounds');

-- Nested
select test.deploy('nested', test.service('a') || test.service('x') || test.service('y') || '<parallelGateway id="outer"/><parallelGateway id="inner"/><parallelGateway id="inner_join"/><parallelGateway id="outer_join"/><endEvent id="end"/>'
  || test.flows('start>outer', 'outer>a', 'outer>inner', 'inner>x', 'inner>y', 'x>inner_join', 'y>inner_join', 'inner_join>outer_join', 'a>outer_join', 'outer_join>end')) \gset
select test.start('nested') as n \gset
select is(test.standing(:'n') || pg_temp.live(:'n')::text, '{"a Waiting","x Waiting","y Waiting",3}', 'nested forks open in one command');
select test.complete_next('x') as x, test.complete_next('a') as a \gset
select is(test.standing(:'n'), '{"inner_join Waiting","outer_join Waiting","y Waiting"}', 'each join waits for its own');
select test.complete_next('y') as y \gset
select is(test.status(:'n') || ' ' || pg_temp.live(:'n'), 'Completed 0', 'and the inner one brings the outer one to fire');

-- Crossing
select test.deploy('crossing', test.service('p') || test.service('q') || test.service('r') || test.service('s') || '<parallelGateway id="one"/><parallelGateway id="two"/><parallelGateway id="first"/><parallelGateway id="second"/><endEvent id="end"/>'
  || test.flows('start>one', 'one>p', 'one>q', 'p>two', 'two>r', 'two>s', 'q>first', 'r>first', 'first>second', 's>second', 'second>end')) \gset
select test.start('crossing') as c \gset
select test.complete_next('p') as p, test.complete_next('q') as q, test.complete_next('s') as s \gset
select is(test.standing(:'c'), '{"first Waiting","r Waiting","second Waiting"}', 'a join may take tokens of two forks');
select test.complete_next('r') as r \gset
select is(test.status(:'c') || ' ' || pg_temp.live(:'c'), 'Completed 0', 'crossing forks end');

-- A gateway that joins and forks
select test.deploy('mixed', test.service('a') || test.service('b') || test.service('c') || test.service('d') || '<parallelGateway id="fork"/><parallelGateway id="both"/><parallelGateway id="join"/><endEvent id="end"/>'
  || test.flows('start>fork', 'fork>a', 'fork>b', 'a>both', 'b>both', 'both>c', 'both>d', 'c>join', 'd>join', 'join>end')) \gset
select test.start('mixed') as m \gset
select test.complete_next('a') as a, test.complete_next('b') as b \gset
select is(test.standing(:'m'), '{"c Waiting","d Waiting"}', 'joins, then forks');
select test.complete_next('c') as c2, test.complete_next('d') as d2 \gset
select is(test.status(:'m'), 'Completed', 'and ends');

-- Arrivals in the same hop
select test.deploy('instant', '<manualTask id="x"/><manualTask id="y"/><manualTask id="z"/><parallelGateway id="fork"/><parallelGateway id="join"/><endEvent id="end"/>'
  || test.flows('start>fork', 'fork>x', 'fork>y', 'fork>z', 'x>join', 'y>join', 'z>join', 'join>end')) \gset
select test.start('instant') as i \gset
select is(test.status(:'i') || ' ' || test.visits(:'i', 'end'), 'Completed 1', 'all arrive in one hop: it fires once');
select test.deploy('rounds', '<manualTask id="p1"/><manualTask id="p2"/><manualTask id="q1"/><manualTask id="q2"/><exclusiveGateway id="p"/><exclusiveGateway id="q"/><parallelGateway id="fork"/><parallelGateway id="join"/>'
  || test.service('after') || '<endEvent id="end"/>'
  || test.flows('start>fork', 'fork>p1', 'fork>p2', 'fork>q1', 'fork>q2', 'p1>p', 'p2>p', 'q1>q', 'q2>q', 'p>join', 'q>join', 'join>after', 'after>end')) \gset
select test.start('rounds') as r \gset
select is(test.standing(:'r'), '{"after Waiting","after Waiting"}', 'two over each flow in one hop: two rounds fire');
select is(pg_temp.live(:'r') || ' ' || (select count(distinct h.detail) from bpm.get_history(:'r') h where h.kind = 'JoinFired'), '2 2', 'each once');

-- Many instances in one call, each with its own join
select count(s.*) as started from bpm.start_processes((select jsonb_agg('{"code": "plain"}'::jsonb) from generate_series(1, 20))) s \gset
select c.tasks from bpm.claim_tasks_at('w', '{a,b,c}', 1000) c \gset
select is((select count(*) from bpm.complete_tasks(test.items(:'tasks')) c where c.outcome = 'Completed'), 60::bigint, '60 branches of 20 instances complete in one call');
select is((select count(*) from bpm.task t where t.task_type = 'after' and t.state = 'Ready'), 22::bigint, 'each instance goes on once');
select is_empty($$select * from bpm.check_invariants('')$$, 'invariants hold');
select * from finish();
rollback;
