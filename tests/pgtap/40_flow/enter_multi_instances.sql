-- Multi-instance: how many items, what they see, how they end, what becomes of their outputs, and what cuts them short.
begin;
select plan(71);
create function pg_temp.task(p_id text, p_loop text) returns text language sql as
$$ select format('<serviceTask id="%1$s" bpm:type="%1$s">%2$s</serviceTask>', p_id, p_loop) $$;
create function pg_temp.multi(p_attributes text, p_inside text default '') returns text language sql as
$$ select format('<multiInstanceLoopCharacteristics xmlns:camunda="http://camunda.org/schema/1.0/bpmn" xmlns:flowable="http://flowable.org/bpmn" %s>%s</multiInstanceLoopCharacteristics>', p_attributes, p_inside) $$;
create function pg_temp.sub(p_id text, p_inside text, p_loop text default '') returns text language sql as
$$ select format('<subProcess id="%1$s">%3$s<startEvent id="%1$s-start"/>%2$s<endEvent id="%1$s-end"/></subProcess>', p_id, p_inside, p_loop) $$;
create function pg_temp.scopes(p uuid) returns text[] language sql as
$$ select coalesce(array_agg(x.what || ' ' || x.times order by x.what), '{}')
     from (select s.node_id || ' ' || s.state as what, count(*) as times from bpm_core.scope s where s.workflow_instance_id = test.workflow(p) group by 1) x $$;
create function pg_temp.replayed(p uuid) returns boolean language sql as
$$ select not exists (select r.token_id::text, r.node_id, r.state from bpm.replay(test.workflow(p)) r
                      except select k.id::text, k.node_id, k.state::text from bpm_core.token k where k.workflow_instance_id = test.workflow(p)) $$;
create function pg_temp.seen(p_type text) returns jsonb language sql as
$$ select coalesce(jsonb_agg(c.variables - array['items', 'n'] order by c.variables -> 'loopCounter'), '[]') from bpm.claim_tasks('w', array[p_type], 100) c $$;
-- Completes all tasks of a type in one call, each with what the expression p_patch makes of its variables.
create function pg_temp.complete_all(p_type text, p_patch text default '{}') returns bigint language plpgsql as
$$
declare
  v_items jsonb;
begin
  select jsonb_agg(jsonb_build_object('task_id', c.task_id, 'fencing_token', c.fencing_token, 'variables', replace(p_patch, '?', (c.variables -> 'item')::text)::jsonb) order by c.variables -> 'loopCounter' desc)
    into v_items from bpm.claim_tasks('w', array[p_type], 1000) c;
  return (select count(*) filter (where t.outcome = 'Completed') from bpm.complete_tasks(coalesce(v_items, '[]')) t);
end
$$;
create function pg_temp.progress(p uuid) returns text language sql as
$$ select string_agg(concat_ws(' ', l ->> 'node_id', l ->> 'mode', l ->> 'done', l ->> 'created', l ->> 'total'), ',' order by l ->> 'node_id') from jsonb_array_elements(bpm.get_process(p) -> 'loops') l $$;

-- Parallel, over a collection
select test.deploy('par', pg_temp.task('work', pg_temp.multi('bpm:collection="${items}" bpm:elementVariable="item" bpm:outputCollection="results" bpm:outputElement="${result}"')) || test.service('after') || '<endEvent id="end"/>' || test.flows('start>work', 'work>after', 'after>end')) \gset
select test.start('par', '{"items": ["a", {"b": 1}, null]}') as a \gset
select is(test.standing(:'a'), '{"work Waiting","work Waiting","work Waiting","work:multi Waiting"}', 'parallel: the host and three items');
select is(pg_temp.progress(:'a'), 'work:multi Parallel 0 3 3', 'get_process tells how far it is');
select is((select jsonb_agg(c.variables - 'items' order by c.variables -> 'loopCounter') from bpm.task t cross join lateral (select v.variables from bpm_core.task_instance i cross join lateral bpm_core.token_variables('', i.workflow_instance_id, i.scope_id) v where i.id = t.task_id) c where t.process_instance_id = :'a'),
          '[{"item": "a", "result": null, "loopCounter": 0}, {"item": {"b": 1}, "result": null, "loopCounter": 1}, {"item": null, "result": null, "loopCounter": 2}]'::jsonb, 'each sees its own');
select is(pg_temp.complete_all('work', '{"result": [?], "shared": true, "item": "mine"}'), 3::bigint, 'all in one call, the last first');
select is(test.standing(:'a') || pg_temp.scopes(:'a'), '{"after Waiting","work:multi Completed 3"}', 'one token goes on');
select is(bpm.get_variables(:'a') - 'items', '{"shared": true, "results": [["a"], [{"b": 1}], [null]]}'::jsonb, 'outputs in the order of the items; what is no output goes outwards');
select is((select count(*) from bpm_core.multi_instance), 0::bigint, 'and nothing is kept');
select is(test.history(:'a', 'Scope%'), '{"ScopeOpened 1","ScopeCompleted 1"}', 'history has it once');
select ok(pg_temp.replayed(:'a'), 'replay');

-- Sequential
select test.deploy('seq', pg_temp.task('work', pg_temp.multi('isSequential="true" camunda:collection="items" camunda:elementVariable="item" bpm:outputCollection="results" bpm:outputElement="out"')) || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset
select test.start('seq', '{"items": [7, 8]}') as b \gset
select is(test.standing(:'b') || pg_temp.progress(:'b'), '{"work Waiting","work:multi Waiting","work:multi Sequential 0 1 2"}', 'sequential: one at a time');
select bpm.set_variables(:'b', '{"items": "gone"}') is not null as changed \gset
select pg_temp.complete_all('work', '{"out": ?}') as done \gset
select is(:'done' || test.standing(:'b')::text || pg_temp.progress(:'b'), '1{"work Waiting","work:multi Waiting"}work:multi Sequential 1 2 2', 'then the next');
select pg_temp.complete_all('work', '{"out": ?}') as done \gset
select is(test.status(:'b') || (bpm.get_variables(:'b') -> 'results')::text, 'Completed[7, 8]', 'to the end: the collection is that of the beginning');
select ok(pg_temp.replayed(:'b'), 'replay');

-- A number
select test.deploy('num', pg_temp.task('work', pg_temp.multi('flowable:elementIndexVariable="k"', '<loopCardinality>${n}</loopCardinality>')) || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset
select test.start('num', '{"n": 2}') as c \gset
select is((select jsonb_agg(c.variables order by c.variables -> 'k') from bpm.claim_tasks('w', '{work}', 9) c), '[{"k": 0, "n": 2}, {"k": 1, "n": 2}]'::jsonb, 'by number; the counter has the name it is given');
select bpm.cancel_process(:'c') is not null as gone \gset
select is(test.status(:'c') || pg_temp.scopes(:'c')::text || (select count(*) from bpm_core.multi_instance), 'Cancelled{"work:multi Cancelled 2"}0', 'cancelled with everything');
select ok(pg_temp.replayed(:'c'), 'replay');

-- Nothing to do
select test.start('num', '{"n": 0}') as d0 \gset
select is(test.status(:'d0'), 'Completed', 'none: it goes on at once');
select test.start('par', '{"items": []}') as d \gset
select is(test.standing(:'d')::text || bpm.get_variables(:'d'), '{"after Waiting"}{"items": [], "results": []}', 'an empty list, and one of outputs');
select ok(pg_temp.replayed(:'d'), 'replay');

-- What cannot be decided
create function pg_temp.told(p_code text, p_variables jsonb) returns text language plpgsql as
$$
declare
  v_id   uuid := test.start(p_code, p_variables);
  v_told text := (select string_agg(concat_ws(' ', i.code, i.node_id, i.message), ' ') from bpm.incident i where i.process_instance_id = v_id);
begin
  perform bpm.cancel_process(v_id);
  return v_told;
end
$$;
select is(pg_temp.told('par', x.vars), x.told, x.about)
  from (values
    ('{}'::jsonb, 'InvalidCollection work:multi Multi-instance work:multi: ${items} gives null (null), which is no list.', 'missing'),
    ('{"items": null}', 'InvalidCollection work:multi Multi-instance work:multi: ${items} gives null (null), which is no list.', 'null'),
    ('{"items": "ab"}', 'InvalidCollection work:multi Multi-instance work:multi: ${items} gives "ab" (string), which is no list.', 'a text'),
    ('{"items": {"a": 1}}', 'InvalidCollection work:multi Multi-instance work:multi: ${items} gives {"a": 1} (object), which is no list.', 'an object')) x(vars, told, about);
select is(pg_temp.told('num', x.vars), x.told, x.about)
  from (values
    ('{"n": -1}'::jsonb, 'InvalidCollection work:multi Multi-instance work:multi: ${n} gives -1 (number), which is no whole number from 0 on.', 'negative'),
    ('{"n": 1.5}', 'InvalidCollection work:multi Multi-instance work:multi: ${n} gives 1.5 (number), which is no whole number from 0 on.', 'broken'),
    ('{"n": "2"}', 'InvalidCollection work:multi Multi-instance work:multi: ${n} gives "2" (string), which is no whole number from 0 on.', 'a text'),
    ('{"n": 150001}', 'TooManyInstances work:multi Multi-instance work:multi: 150001 items, and at most 150000 tokens may live in one instance.', 'too many'),
    ('{"n": 15000000001}', 'TooManyInstances work:multi Multi-instance work:multi: 15000000001 items, and at most 150000 tokens may live in one instance.', 'far too many')) x(vars, told, about);
select test.start('par', '{"items": null}') as e \gset
select is((select i.detail -> 'seen' from bpm.incident i where i.process_instance_id = :'e'), '[{"path": "items", "type": "null", "value": null}]'::jsonb, 'with the values seen');
select bpm.set_variables(:'e', '{"items": [1]}') is not null as mended \gset
select bpm.resolve_incident((select i.incident_id from bpm.incident i where i.process_instance_id = :'e')) is not null as resolved \gset
select is(test.standing(:'e'), '{"work Waiting","work:multi Waiting"}', 'mended and resolved it begins');
select ok(pg_temp.replayed(:'e'), 'replay');
select bpm.cancel_process(:'e') is not null as gone \gset

-- Completion condition
select test.deploy('until', pg_temp.task('work', pg_temp.multi('bpm:collection="${items}" bpm:elementVariable="item" bpm:outputCollection="votes" bpm:outputElement="${vote}"', '<completionCondition>${vote == "no" || nrOfCompletedInstances / nrOfInstances >= 0.6}</completionCondition>'))
  || '<boundaryEvent id="soft" attachedToRef="work" cancelActivity="false"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>' || test.service('remind') || '<endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>work', 'work>end', 'soft>remind', 'remind>end2')) \gset
select test.start('until', '{"items": [0, 1, 2, 3, 4]}') as f \gset
select test.complete_next('work', '{"vote": "yes"}') is not null as done \gset
select bpm.advance_clock(interval '2 hours') is not null as later \gset
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'f') || pg_temp.progress(:'f'), '{"remind Waiting","work Waiting","work Waiting","work Waiting","work Waiting","work:multi Waiting","work:multi Parallel 1 5 5"}', 'a boundary event that does not interrupt goes beside all of it');
select test.complete_next('work', '{"vote": "yes"}') is not null as done \gset
select test.complete_next('work', '{"vote": "yes"}') is not null as done \gset
select is(test.standing(:'f')::text || pg_temp.scopes(:'f')::text || (bpm.get_variables(:'f') -> 'votes'), '{"remind Waiting"}{"work:multi Cancelled 2","work:multi Completed 3"}["yes", "yes", "yes", null, null]', 'enough: the others are closed');
select is((select string_agg(t.state || ' ' || t.n, ',' order by t.state) from (select t.state, count(*) as n from bpm.task t where t.process_instance_id = :'f' and t.node_id = 'work' group by t.state) t), 'Cancelled 2,Completed 3', 'so are their tasks');
select ok(pg_temp.replayed(:'f'), 'replay');
select test.start('until', '{"items": [0, 1, 2]}') as g \gset
select test.complete_next('work', '{"vote": "no"}') is not null as done \gset
select is(test.status(:'g') || (bpm.get_variables(:'g') -> 'votes'), 'Completed["no", null, null]', 'by what the item itself says');
select test.deploy('unclear', pg_temp.task('work', pg_temp.multi('bpm:collection="${items}" bpm:elementVariable="item"', '<completionCondition>${item > 1}</completionCondition>')) || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset
select test.start('unclear', '{"items": ["x", 0, 1]}') as h \gset
select pg_temp.complete_all('work') as done \gset
select is(:'done' || test.incidents(:'h')::text || pg_temp.progress(:'h') || test.standing(:'h')::text, '3{"ConditionUndecidable work:multi:end"}work:multi Parallel 2 3 3{"work:multi Waiting","work:multi:end Failed"}', 'undecidable: an incident of that item, the others count');
select ok(pg_temp.replayed(:'h'), 'replay');
select bpm.resolve_incident((select i.incident_id from bpm.incident i where i.process_instance_id = :'h')) is not null as resolved \gset
select is(test.incidents(:'h'), '{"ConditionUndecidable work:multi:end"}', 'resolved without a remedy: again');
update bpm_core.scope s set variables = s.variables || '{"item": 5}' where s.workflow_instance_id = test.workflow(:'h') and s.state = 'Open';
select bpm.resolve_incident((select i.incident_id from bpm.incident i where i.process_instance_id = :'h' and i.state = 'Open')) is not null as resolved \gset
select is(test.status(:'h'), 'Completed', 'with one: it goes on');

-- Errors, terminate ends, timers: what cuts short
select test.deploy('cut', pg_temp.sub('sub', '<parallelGateway id="fork"/>' || test.service('a') || test.service('b') || '<endEvent id="stop"><terminateEventDefinition/></endEvent>' || test.flows('sub-start>fork', 'fork>a', 'fork>b', 'a>stop', 'b>sub-end'), pg_temp.multi('bpm:collection="items" bpm:elementVariable="item"'))
  || '<boundaryEvent id="late" attachedToRef="sub"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent><boundaryEvent id="bad" attachedToRef="sub"><errorEventDefinition/></boundaryEvent>' || test.service('mend') || '<endEvent id="end"/><endEvent id="end2"/><endEvent id="end3"/>'
  || test.flows('start>sub', 'sub>end', 'late>end2', 'bad>mend', 'mend>end3')) \gset
select test.start('cut', '{"items": [1, 2]}') as i \gset
select is(pg_temp.scopes(:'i'), '{"sub Open 2","sub:multi Open 2"}', 'sub-processes: a scope of its own in that of each item');
select test.complete_next('a') is not null as done \gset
select is(test.standing(:'i') || pg_temp.scopes(:'i') || pg_temp.progress(:'i'), '{"a Waiting","b Waiting","sub Waiting","sub:multi Waiting","sub Completed 1","sub Open 1","sub:multi Completed 1","sub:multi Open 1","sub:multi Parallel 1 2 2"}', 'a terminate end ends its own item');
select test.throw_next('b', 'broken') is not null as thrown \gset
select is(test.standing(:'i')::text || pg_temp.scopes(:'i')::text, '{"mend Waiting"}{"sub Cancelled 1","sub Completed 1","sub:multi Cancelled 1","sub:multi Completed 1"}', 'an error leaves by the boundary of all, and closes the others');
select ok(pg_temp.replayed(:'i'), 'replay');
select test.start('cut', '{"items": [1, 2, 3]}') as j \gset
select bpm.advance_clock(interval '2 hours') is not null as later \gset
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'j') || pg_temp.scopes(:'j')::text || (select count(*) from bpm_core.multi_instance m where m.workflow_instance_id = test.workflow(:'j')), 'Completed{"sub Cancelled 3","sub:multi Cancelled 3"}0', 'a timer of the boundary ends all');
select ok(pg_temp.replayed(:'j'), 'replay');

-- One in the other, in the same names; and again in a loop
select test.deploy('nest', '<exclusiveGateway id="m"/>' || pg_temp.sub('row', pg_temp.task('cell', pg_temp.multi('bpm:collection="${r.cells}" bpm:elementVariable="c" bpm:outputCollection="doubled" bpm:outputElement="${c * 10 + loopCounter}"')) || test.flows('row-start>cell', 'cell>row-end'), pg_temp.multi('isSequential="true" bpm:collection="${rows}" bpm:elementVariable="r" bpm:outputCollection="table" bpm:outputElement="${doubled}"'))
  || test.service('again') || '<exclusiveGateway id="x" default="x_end"/><endEvent id="end"/>' || test.flows('start>m', 'm>row', 'row>again', 'again>x', 'x>end') || test.when('x>m', '${more == true}')) \gset
select test.start('nest', '{"rows": [{"cells": [1, 2]}, {"cells": []}, {"cells": [3]}]}') as k \gset
select is(pg_temp.progress(:'k'), 'cell:multi Parallel 0 2 2,row:multi Sequential 0 1 3', 'one in the other');
select pg_temp.complete_all('cell') as done \gset
select is(pg_temp.progress(:'k'), 'cell:multi Parallel 0 1 1,row:multi Sequential 2 3 3', 'past an empty one');
select pg_temp.complete_all('cell') as done \gset
select is(test.standing(:'k')::text || (bpm.get_variables(:'k') - 'rows'), '{"again Waiting"}{"table": [[10, 21], [], [30]]}', 'what the inner one gathers stays inside');
select ok(pg_temp.replayed(:'k'), 'replay');
select test.complete_next('again', '{"more": true, "rows": [{"cells": [9]}]}') is not null as done \gset
select pg_temp.complete_all('cell') as done \gset
select is(:'done' || test.standing(:'k')::text || (bpm.get_variables(:'k') -> 'table'), '1{"again Waiting"}[[90]]', 'the second time with its own');

-- Outputs of several names; of Zeebe
select test.deploy('names', pg_temp.task('work', pg_temp.multi('', '<extensionElements><zeebe:loopCharacteristics xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" inputCollection="= items" inputElement="item" outputCollection="priced" outputElement="= {id: item, price: price * factor, no: loopCounter}"/></extensionElements>')) || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset
select test.start('names', '{"items": [1, 2], "factor": 3}') as l \gset
select pg_temp.complete_all('work', '{"price": ?}') as done \gset
select is(:'done' || test.status(:'l') || bpm.get_variables(:'l'), '2Completed{"items": [1, 2], "factor": 3, "priced": [{"id": 1, "no": 1, "price": 3}, {"id": 2, "no": 2, "price": 6}]}', 'what one item writes is not gathered for another; Zeebe counts from 1');
select test.start('names', '{"items": [1], "factor": "x"}') as m \gset
select pg_temp.complete_all('work', '{"price": 2}') as done \gset
select is(:'done' || test.incidents(:'m')::text, '1{"OutputUndecidable work:multi:end"}', 'an output that cannot be decided');
select bpm.set_setting('engine.max_value_bytes', '65536') is not null as set \gset
select bpm.cancel_process(:'m') is not null as gone \gset
select test.start('par', (select jsonb_build_object('items', jsonb_agg(n)) from generate_series(1, 9) n)) as n \gset
select pg_temp.complete_all('work', format('{"result": "%s"}', repeat('x', 20000))) as done \gset
select is(:'done' || (test.incidents(:'n'))[1] || cardinality(test.incidents(:'n')), '9OutputTooLarge work:multi:end6', 'and one that is too large');
select ok(pg_temp.replayed(:'n') and pg_temp.replayed(:'m'), 'replay');
select bpm.cancel_process(:'n') is not null as gone \gset

-- More than one command may begin
select bpm.set_setting('engine.max_value_bytes', '262144') is not null as set \gset
select test.deploy('many', '<task id="step">' || pg_temp.multi('bpm:collection="items" bpm:elementVariable="item" bpm:outputCollection="out" bpm:outputElement="item"') || '</task><endEvent id="end"/>' || test.flows('start>step', 'step>end')) \gset
select test.start('many', (select jsonb_build_object('items', jsonb_agg(n)) from generate_series(1, 2500) n)) as o \gset
select is(pg_temp.progress(:'o'), 'step:multi Parallel 1000 1000 2500', 'a thousand at once');
select is((select array_agg(i.kind || ' ' || (i.payload ->> 'visit')) from bpm_core.inbox i), '{"Continue 1"}', 'the rest is on its way');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold in between');
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'o') || (bpm.get_variables(:'o') -> 'out' = bpm.get_variables(:'o') -> 'items')::text, 'Completedtrue', 'all of them, in order');
select test.start('many', (select jsonb_build_object('items', jsonb_agg(n)) from generate_series(1, 1500) n)) as p \gset
select bpm.cancel_process(:'p') is not null as gone \gset
select bpm.run_until_idle() as ticks \gset
select is(pg_temp.scopes(:'p')::text || (select count(*) from bpm_core.inbox) || (select count(*) from bpm_core.multi_instance_part), '{"step:multi Completed 1000"}00', 'cancelled in between, nothing more begins');
select test.deploy('room', pg_temp.sub('outer', pg_temp.task('inner', pg_temp.multi('', '<loopCardinality>${n}</loopCardinality>')) || test.flows('outer-start>inner', 'inner>outer-end'), pg_temp.multi('', '<loopCardinality>2</loopCardinality>')) || '<endEvent id="end"/>' || test.flows('start>outer', 'outer>end')) \gset
select test.start('room', '{"n": 90000}') as q \gset
select is(test.incidents(:'q')::text || pg_temp.progress(:'q'), '{"TooManyInstances inner:multi"}inner:multi Parallel 0 1000 90000,outer:multi Parallel 0 2 2', 'two of which the second would be too many: none of its items is begun');
select bpm.cancel_process(:'q') is not null as gone \gset

-- Every kind of activity
select test.deploy('kinds', pg_temp.sub('x', test.flows('x-start>x-end'), '') || replace('<receiveTask id="hear" messageRef="m">#</receiveTask><userTask id="look">#</userTask><manualTask id="lift">#</manualTask>', '#', pg_temp.multi('bpm:collection="items" bpm:elementVariable="item"')) || '<endEvent id="end"/>'
  || test.flows('start>x', 'x>hear', 'hear>look', 'look>lift', 'lift>end'), '<message id="m" name="ping" bpm:correlationKey="item"/>') \gset
select test.start('kinds', '{"items": ["k1", "k2"]}') as r \gset
select is((select string_agg(m.state, ',') from (values ('k2'), ('k1')) k(key) cross join lateral bpm.correlate_message('ping', k.key, '{}') m), 'Correlated,Correlated', 'messages find the item they are for');
select bpm.run_until_idle() as ticks \gset
select is(test.standing(:'r'), '{"look Waiting","look Waiting","look:multi Waiting"}', 'then two people');
select count(*) as done from (select t.task_id from bpm.task t where t.process_instance_id = :'r' and t.state = 'Ready' offset 0) t cross join lateral bpm.complete_user_task(t.task_id) c \gset
select is(test.status(:'r'), 'Completed', 'to the end');
select ok(pg_temp.replayed(:'r'), 'replay');

-- Calls: one called process per item
select test.deploy('kid', test.service('toil') || '<endEvent id="k-end"/>' || test.flows('start>toil', 'toil>k-end')) \gset
select test.deploy('calls', '<callActivity id="call" calledElement="kid">' || pg_temp.multi('bpm:collection="items" bpm:elementVariable="item" bpm:outputCollection="got" bpm:outputElement="result"') || '</callActivity>'
  || '<boundaryEvent id="late" attachedToRef="call"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent><endEvent id="end"/><endEvent id="end2"/>' || test.flows('start>call', 'call>end', 'late>end2')) \gset
select test.start('calls', '{"items": [1, 2, 3]}') as s \gset
select bpm.run_until_idle() as ticks \gset
select is((select count(*) from bpm_core.workflow_instance w where w.process_instance_id = :'s'), 4::bigint, 'each item calls');
select pg_temp.complete_all('toil', '{"result": ?}') as done \gset
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'s') || (bpm.get_variables(:'s') -> 'got')::text, 'Completed[1, 2, 3]', 'and has what its called process wrote');
select test.start('calls', '{"items": [1, 2]}') as t \gset
select bpm.run_until_idle() as ticks \gset
select bpm.advance_clock(interval '2 hours') is not null as later \gset
select bpm.run_until_idle() as ticks \gset
select is(test.status(:'t') || (select string_agg(w.status::text, ',' order by w.depth, w.id) from bpm_core.workflow_instance w where w.process_instance_id = :'t'), 'CompletedCompleted,Cancelled,Cancelled', 'interrupted with all of them');
select ok(pg_temp.replayed(:'t'), 'replay');

-- What is refused
select test.bpmn('bad', '<startEvent id="start"/>' || pg_temp.task('a', pg_temp.multi('')) || pg_temp.task('b', pg_temp.multi('bpm:collection="x"', '<loopCardinality>3</loopCardinality>')) || pg_temp.task('c', pg_temp.multi('bpm:collection="${x +}"'))
  || pg_temp.task('d', pg_temp.multi('bpm:collection="x" bpm:outputCollection="y"')) || pg_temp.task('e', pg_temp.multi('bpm:collection="x" bpm:elementVariable="${y}"'))
  || pg_temp.sub('f', test.service('f-in') || test.flows('f-start>f-in', 'f-in>f-end') || '<subProcess id="g" triggeredByEvent="true">' || pg_temp.multi('bpm:collection="x"') || '<startEvent id="g-start"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></startEvent><endEvent id="g-end"/>' || test.flows('g-start>g-end') || '</subProcess>')
  || '<endEvent id="z"/>' || test.flows('start>a', 'a>b', 'b>c', 'c>d', 'd>e', 'e>f', 'f>z')) as bad \gset
select is((select string_agg(c.code || ': ' || c.message, ' ' order by c.node_id) from bpm.check_bpmn(:'bad') c where c.severity = 'fault'),
  'InvalidLoop: serviceTask "a": it is multi-instance, but says neither over what nor how often. InvalidLoop: serviceTask "b": it is multi-instance over a collection and by a number; which of them counts is not said. '
  || 'InvalidLoop: serviceTask "c": its collection ''${x +}'' cannot be read: it ends where a value should stand (position 6). InvalidLoop: serviceTask "d": its output collection and its output element belong together, and one of them is missing. '
  || 'InvalidLoop: serviceTask "e": ''${y}'' must be the name of a variable. InvalidLoop: subProcess "g" can be neither multi-instance nor a loop.', 'each by its name');
select is_empty('select * from bpm.check_invariants()', 'all invariants hold');
select * from finish();
rollback;
