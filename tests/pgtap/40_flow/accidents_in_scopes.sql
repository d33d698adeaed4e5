-- The accidents that tokens at the root meet, met by tokens in sub-processes, event sub-processes, items and calls: a branch dies (A-05), timers came due while
-- nothing ran (A-08), a timer and an answer at once (A-10), messages too early and too late (A-19), what was interrupted speaks up later (C08), nested
-- interruptions by one message (C07).
begin;
select plan(32);
create function pg_temp.timer(p_id text, p_host text, p_interrupting boolean default true) returns text language sql as $$
  select test.timer(p_id, '<timeDuration>PT1H</timeDuration>', p_host, p_interrupting) $$;
create function pg_temp.sub(p_id text, p_inside text) returns text language sql as $$
  select format('<subProcess id="%1$s"><startEvent id="%1$s-start"/>%2$s<endEvent id="%1$s-end"/></subProcess>', p_id, p_inside) $$;
create function pg_temp.boundary(p_id text, p_host text) returns text language sql as $$
  select format('<boundaryEvent id="%s" attachedToRef="%s"><messageEventDefinition messageRef="m"/></boundaryEvent>', p_id, p_host) $$;
create function pg_temp.live(p uuid) returns text[] language sql as $$
  select coalesce(array_agg(k.node_id || ' ' || k.state order by k.node_id collate "C", k.state::text), '{}') from bpm_core.token k join bpm_core.workflow_instance w on w.id = k.workflow_instance_id where w.process_instance_id = p and k.state not in ('Completed', 'Terminated') $$;
\set outside '<message id="m" name="stop"/>'

-- A-05: one branch of a fork inside a sub-process is buried, an item of a multi-instance, and a called process, while the rest has arrived
select test.deploy('frail', test.service('z', 'bpm:retries="1"') || '<endEvent id="e"/>' || test.flows('start>z', 'z>e')) \gset
select test.deploy('dies', '<parallelGateway id="f"/><parallelGateway id="j"/><endEvent id="end"/><callActivity id="call" calledElement="frail"/>'
  || pg_temp.sub('s', '<parallelGateway id="sf"/><parallelGateway id="sj"/>' || test.service('x', 'bpm:retries="1"') || test.service('y') || test.flows('s-start>sf', 'sf>x', 'sf>y', 'x>sj', 'y>sj', 'sj>s-end'))
  || '<serviceTask id="item" bpm:type="item" bpm:retries="1"><multiInstanceLoopCharacteristics><loopCardinality>3</loopCardinality></multiInstanceLoopCharacteristics></serviceTask>'
  || test.flows('start>f', 'f>s', 'f>item', 'f>call', 's>j', 'item>j', 'call>j', 'j>end')) \gset
select test.start('dies') as a \gset
select count(test.fail_next(t)) as failed, count(test.complete_next(c)) as done from (values ('x', 'y'), ('item', 'item'), ('z', 'item')) q (t, c) \gset
select is(pg_temp.live(:'a'), '{"call Waiting","item Failed","item:multi Waiting","s Waiting","sj Waiting","x Failed","z Failed"}', 'one each is buried, the rest has arrived');
select bpm.run_until_idle() as ticks \gset
select is((select array_agg(i.code order by i.node_id) from bpm.incident i where i.process_instance_id = :'a' and i.state = 'Open'), '{AttemptsExhausted,AttemptsExhausted,AttemptsExhausted}', 'which is no starving of any join');
select is((select count(r.*) from bpm.dead_letter d cross join lateral bpm.requeue_dead_letter(d.dead_letter_id, 1) r where d.process_instance_id = :'a'), 3::bigint, 'all are requeued');
select count(test.complete_next(t)) as done from unnest('{x,item,z}'::text[]) t \gset
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'a'), 'Completed', 'and it ends');
select is((select array_agg(h.node_id || ' ' || h.n order by h.node_id) from (select h.node_id, count(*) as n from bpm.get_history(:'a', 1000) h where h.kind = 'JoinFired' group by h.node_id) h), '{"j 1","sj 1"}', 'each join has fired once');
select is(test.broken(), '{}', 'nothing is broken');

-- A-08: timers of all kinds came due while nothing ran: each once, the oldest first
select test.deploy('leaf', test.service('deep') || '<endEvent id="e"/>' || test.flows('start>deep', 'deep>e')) \gset
select test.deploy('due', '<parallelGateway id="f"/>' || pg_temp.sub('s', test.service('x') || test.flows('s-start>x', 'x>s-end')) || '<callActivity id="call" calledElement="leaf"/>'
  || '<serviceTask id="item" bpm:type="item"><multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics></serviceTask>'
  || pg_temp.timer('s-late', 's') || pg_temp.timer('call-late', 'call') || pg_temp.timer('item-late', 'item')
  || '<subProcess id="es" triggeredByEvent="true"><startEvent id="es-due" isInterrupting="false"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></startEvent><endEvent id="es-end"/>' || test.flows('es-due>es-end') || '</subProcess>'
  || (select string_agg(format('<endEvent id="%s"/>', e), '') from unnest('{e1,e2,e3,e4,e5,e6}'::text[]) e)
  || test.flows('start>f', 'f>s', 'f>call', 'f>item', 's>e1', 'call>e2', 'item>e3', 's-late>e4', 'call-late>e5', 'item-late>e6')) \gset
create temp table due as select n, test.start('due') as id, bpm.advance_clock('1 s') as moved from generate_series(1, 10) n;
select bpm.advance_clock('3 hours') is not null as later \gset
select test.tick('timers', 8) as fired \gset
select is((select max(d.n) < min(e.n) or min(d.n) = 1 and count(distinct d.n) < 10 from due d join bpm.timer t on t.process_instance_id = d.id and t.status = 'Fired' cross join due e where not exists (select from bpm.timer u where u.process_instance_id = e.id and u.status = 'Fired')), true, 'the oldest first');
select bpm.run_until_idle() as ticks \gset
select is((select array_agg(x.node_id || ' ' || x.status || ' ' || x.n order by x.node_id) from (select t.node_id, t.status, count(*) as n from bpm.timer t join due d on d.id = t.process_instance_id group by t.node_id, t.status) x),
  '{"call-late Fired 10","es-due Fired 10","item-late Fired 10","s-late Fired 10"}', 'each once');
select is((select array_agg(x.status || ' ' || x.n) from (select test.status(d.id) as status, count(*) as n from due d group by 1) x), '{"Completed 10"}', 'and every one ends');
select is((select array_agg(distinct t.node_id || ' ' || t.state order by t.node_id || ' ' || t.state) from bpm.task t join due d on d.id = t.process_instance_id), '{"deep Cancelled","item Cancelled","x Cancelled"}', 'what they interrupted is closed, however deep');
select is(test.broken(), '{}', 'nothing is broken');

-- A-10: the timer of a sub-process and the last answer in it, of a multi-instance, of a call: whichever is first has it
select test.deploy('pair', pg_temp.sub('s', test.service('x') || test.flows('s-start>x', 'x>s-end')) || pg_temp.timer('late', 's') || test.service('on') || test.service('off') || '<endEvent id="e1"/><endEvent id="e2"/>' || test.flows('start>s', 's>on', 'on>e1', 'late>off', 'off>e2')) \gset
select test.start('pair') as b \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{x}', 1, '5 hours') c \gset
select bpm.advance_clock('2 hours') is not null as later \gset
select test.tick('timers') as fired \gset
select is((select c.outcome::text from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', :'task_id', 'fencing_token', :fencing_token))) c) || test.standing(:'b')::text, 'Cancelled{"off Waiting"}', 'the timer first: the answer is told so');
select test.start('pair') as c \gset
select t.task_id, t.fencing_token from bpm.claim_tasks('w', '{x}', 1, '5 hours') t \gset
select bpm.advance_clock('2 hours') is not null as later \gset
select is((select o.outcome::text from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', :'task_id', 'fencing_token', :fencing_token))) o) || test.tick('timers') || test.standing(:'c')::text, 'Completed0{"on Waiting"}', 'the answer first: the timer that was due is gone');

-- C08: a sub-process in a loop, interrupted in each round; what belonged to an earlier round does nothing in a later one
select test.deploy('round', '<exclusiveGateway id="in"/>' || pg_temp.sub('s', '<parallelGateway id="sf"/>' || test.service('x') || '<userTask id="u"/><endEvent id="s-end2"/>' || pg_temp.timer('nag', 'x', false) || '<endEvent id="s-end3"/>' || test.flows('s-start>sf', 'sf>x', 'sf>u', 'x>s-end', 'u>s-end2', 'nag>s-end3'))
  || pg_temp.boundary('stop', 's') || '<endEvent id="end"/>' || test.flows('start>in', 'in>s', 's>end', 'stop>in'), :'outside') \gset
select test.start('round', '{}', 'R') as d \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{x}', 1, '5 hours') c \gset
select t.task_id as look from bpm.task t where t.process_instance_id = :'d' and t.node_id = 'u' \gset
select bpm.advance_clock('30 minutes') is not null as later \gset
select is((select array_agg(m.state) from generate_series(1, 2) n cross join lateral bpm.correlate_message('stop', 'R', p_message_id => 'r' || n) m), '{Correlated,Correlated}', 'interrupted, entered again, interrupted, entered again');
select bpm.run_until_idle() as ticks \gset
select is((select array_agg(x.node_id || ' ' || x.state || ' ' || x.n order by x.node_id, x.state) from (select t.node_id, t.state, count(*) as n from bpm.task t where t.process_instance_id = :'d' group by 1, 2) x), '{"u Cancelled 2","u Ready 1","x Cancelled 2","x Ready 1"}', 'the work of earlier rounds is closed');
select is((select c.outcome::text from bpm.complete_tasks(jsonb_build_array(jsonb_build_object('task_id', :'task_id', 'fencing_token', :fencing_token))) c), 'Cancelled', 'its answer is told so');
select is(kit.raised(format('select bpm.complete_user_task(%L)', :'look')) ->> 'code', 'BP409', 'so is that of a person');
select bpm.advance_clock('40 minutes') is not null as later \gset
select is(test.tick('timers'), 0, 'the timers of earlier rounds are never due');
select bpm.advance_clock('30 minutes') is not null as later \gset
select is(test.tick('timers'), 1, 'that of this round is');
select test.complete_next('x') as done, test.complete_user(:'d') as looked \gset
select is(test.status(:'d'), 'Completed', 'and it ends');

-- A-19 and C10: messages for a boundary event of a sub-process and for an event sub-process: kept until it is entered, not after their time, not after it was left
select test.deploy('ears', test.service('first') || pg_temp.sub('s', test.service('x') || test.flows('s-start>x', 'x>s-end')
  || '<subProcess id="es" triggeredByEvent="true"><startEvent id="es-told" isInterrupting="false"><messageEventDefinition messageRef="n"/></startEvent>' || test.service('told') || '<endEvent id="es-end"/>' || test.flows('es-told>told', 'told>es-end') || '</subProcess>')
  || pg_temp.boundary('stop', 's') || test.service('last') || test.service('cut') || '<endEvent id="e1"/><endEvent id="e2"/>' || test.flows('start>first', 'first>s', 's>last', 'last>e1', 'stop>cut', 'cut>e2'), :'outside' || '<message id="n" name="news"/>') \gset
select test.start('ears', '{}', 'E') as e \gset
select is((select array_agg(m.state) from unnest('{news,stop}'::text[]) n cross join lateral bpm.correlate_message(n, 'E', p_ttl => '1 minute') m), '{Buffered,Buffered}', 'too early: kept');
select bpm.advance_clock('2 minutes') is not null as later \gset
select is((select m.state from bpm.correlate_message('news', 'E', p_ttl => '1 hour') m), 'Buffered', 'another one, for longer');
select test.complete_next('first') as done \gset
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.live(:'e'), '{"es Waiting","s Waiting","told Waiting","x Waiting"}', 'entered: what was kept comes in once, what was past its time never');
select test.complete_next('x') as done, test.complete_next('told') as told \gset
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.live(:'e')::text || (select array_agg(m.state) from unnest('{news,stop}'::text[]) n cross join lateral bpm.correlate_message(n, 'E', p_ttl => '0') m)::text, '{"last Waiting"}{Expired,Expired}', 'left: too late');

-- C07: sub-processes one in the other, each with a boundary event for the same message, and all of them for one signal
select test.deploy('nest', pg_temp.sub('o', pg_temp.sub('i', test.service('x') || test.flows('i-start>x', 'x>i-end')) || pg_temp.boundary('i-stop', 'i') || test.service('inner') || '<endEvent id="o-end2"/>' || test.flows('o-start>i', 'i>o-end', 'i-stop>inner', 'inner>o-end2'))
  || pg_temp.boundary('o-stop', 'o') || test.service('outer') || '<endEvent id="e1"/><endEvent id="e2"/>' || test.flows('start>o', 'o>e1', 'o-stop>outer', 'outer>e2'), :'outside') \gset
select test.start('nest', '{}', 'N1') as g \gset
select m.state from bpm.correlate_message('stop', 'N1') m \gset
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.live(:'g'), '{"outer Waiting"}', 'one message: the older wait, which is the outer one');
select test.start('nest', '{}', 'N2') as h \gset
select is((select array_agg(m.state) from generate_series(1, 2) n cross join lateral bpm.correlate_message('stop', 'N2', p_message_id => 'n' || n) m)::text || bpm.run_until_idle() || pg_temp.live(:'h')::text, '{Correlated,Buffered}0{"outer Waiting"}', 'two: the first closes both waits, the second is kept');
select test.deploy('heard', replace(replace(pg_temp.sub('o', pg_temp.sub('i', test.service('x') || test.flows('i-start>x', 'x>i-end')) || pg_temp.boundary('i-stop', 'i') || test.service('inner') || '<endEvent id="o-end2"/>' || test.flows('o-start>i', 'i>o-end', 'i-stop>inner', 'inner>o-end2'))
  || pg_temp.boundary('o-stop', 'o') || test.service('outer') || '<endEvent id="e1"/><endEvent id="e2"/>' || test.flows('start>o', 'o>e1', 'o-stop>outer', 'outer>e2'), 'messageEventDefinition', 'signalEventDefinition'), 'messageRef', 'signalRef'), '<signal id="m" name="stop"/>') \gset
select test.start('heard') as i \gset
select b.* from bpm.broadcast_signal('stop') b \gset
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.live(:'i'), '{"outer Waiting"}', 'a signal reaches both: the outer one stays');
select is((select array_agg(c.status) from unnest(array[:'g', :'h', :'i']::uuid[]) p cross join lateral bpm.cancel_process(p) c), '{Cancelled,Cancelled,Cancelled}', 'all are cancellable');

-- C22: what is called takes no key of its own: the called process can still be started under the same business key, and under the same idempotency key as its caller's only by the same request
select s.process_instance_id as k, s.is_new from bpm.start_process('dies', '{}', 'KEY', 'once') s \gset
select is((select s.process_instance_id || ' ' || s.is_new from bpm.start_process('dies', '{}', 'KEY', 'once') s), :'k' || ' false', 'a start that calls is repeated: the first answer');
select is((select count(*) from bpm_core.workflow_instance w where w.process_instance_id = :'k'), 2::bigint, 'nothing is called twice');
select is((select s.is_new from bpm.start_process('frail', '{}', 'KEY', 'another') s), true, 'what it has called can be started by itself, with the same business key');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select * from finish();
rollback;
