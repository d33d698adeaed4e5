-- bpm.plan_migration, bpm.migrate_process, bpm.migrate_processes: an instance goes on in another version of its process, or is refused.
begin;
select plan(88);
create function pg_temp.plan(p_process_instance_id uuid, p_to integer default 2, p_mapping jsonb default '{}') returns text[] language sql as $$
  select coalesce(array_agg(concat_ws(' ', m.item, m.node_id, '>', m.to_node_id, m.action, m.refusal) order by m.item, m.node_id, m.to_node_id), '{}')
    from bpm.plan_migration(p_process_instance_id, p_to, p_mapping) m $$;
create function pg_temp.migrate(p_process_instance_id uuid, p_to integer default 2, p_mapping jsonb default '{}') returns text language sql as $$
  select concat_ws(' ', m.from_version, m.to_version, jsonb_path_query_array(m.changes, '$[*].action')) from bpm.migrate_process(p_process_instance_id, p_to, p_mapping) m $$;
create function pg_temp.refusals(p_process_instance_id uuid, p_to integer default 2, p_mapping jsonb default '{}') returns text language sql as $$
  select coalesce(e.e ->> 'code', 'none') || ' ' || coalesce(jsonb_path_query_array(e.e, '$.detail.refusals[*].code')::text, '')
    from kit.raised(format('select bpm.migrate_process(%L, %s, %L)', p_process_instance_id, p_to, p_mapping)) e(e) $$;
create function pg_temp.version(p_process_instance_id uuid) returns integer language sql as $$
  select i.process_version from bpm.instance i where i.process_instance_id = p_process_instance_id $$;
-- A message and how it is waited for.
create function pg_temp.catch(p_id text, p_message text) returns text language sql as $$
  select format('<intermediateCatchEvent id="%s"><messageEventDefinition messageRef="m_%s"/></intermediateCatchEvent>', p_id, p_message) $$;
create function pg_temp.boundary(p_id text, p_host text, p_message text) returns text language sql as $$
  select format('<boundaryEvent id="%s" attachedToRef="%s"><messageEventDefinition messageRef="m_%s"/></boundaryEvent><endEvent id="end_%1$s"/>', p_id, p_host, p_message) || test.flows(p_id || '>end_' || p_id) $$;
create function pg_temp.deploy(p_code text, p_body text) returns void language sql as $$
  select test.deploy(p_code, p_body, '<message id="m_a" name="a"/><message id="m_b" name="b"/>') $$;

-- A step is added behind a task in hand
select pg_temp.deploy('line', test.service('one', 'bpm:retries="2"') || '<endEvent id="end"/>' || test.flows('start>one', 'one>end')) \gset
select test.start('line', '{}', 'L-1') as a \gset
select test.start('line', '{}', 'L-2') as a2 \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{one}') c \gset
select pg_temp.deploy('line', test.service('one', 'bpm:retries="5"') || test.service('two') || '<endEvent id="end"/>' || test.flows('start>one', 'one>two', 'two>end')) \gset
select is(pg_temp.plan(:'a'), '{"token one > one keep"}', 'the plan: the token stays where it is');
select is(pg_temp.version(:'a'), 1, 'planning moves nothing');
select m.* from bpm.migrate_process(:'a', 2, p_reason => 'two is missing', p_actor => 'ann') m \gset m_
select is(concat_ws(' ', :'m_process_instance_id' = :'a', :m_from_version, :m_to_version, :'m_changes'), 't 1 2 []', 'moved');
select is(pg_temp.version(:'a') || ' ' || pg_temp.version(:'a2'), '2 1', 'this instance alone');
select is((select t.state || ' ' || t.attempt || ' ' || t.max_attempts from bpm.task t where t.task_id = :'task_id'), 'Executing 1 5', 'the task in hand stays so, with the attempts of the new version');
select is((select concat_ws(' ', h.actor, h.detail ->> 'reason', h.detail ->> 'from' <> h.detail ->> 'to') from bpm.get_history(:'a') h where h.kind = 'InstanceMigrated'), 'ann two is missing t', 'history tells');
select is((select concat_ws(' ', e.actor, e.reason, e.detail) from bpm_core.audit_event e where e.action = 'MigrateProcess'), 'ann two is missing {"mapping": {}, "to_version": 2, "from_version": 1}', 'it is audited');
select is(test.broken(), '{}', 'invariants hold, replay over two graphs among them');
select is(bpm.complete_task(:'task_id', :fencing_token) is not null, true, 'its worker completes it');
select is(test.standing(:'a'), '{"two Waiting"}', 'and the new step follows');
select is(pg_temp.migrate(:'a'), '2 2 []', 'moving to the version it has does nothing');
select is(test.history(:'a', 'InstanceMigrated'), '{"InstanceMigrated 1"}', 'and writes nothing');
select is(pg_temp.migrate(:'a', 1, '{"two": "one"}'), '2 1 ["rename"]', 'and back, with a node mapped');
select is(test.standing(:'a')::text || test.broken()::text, '{"one Waiting"}{}', 'it stands at the other node');
select is((select array_agg(r.node_id || ' ' || r.state) from bpm.replay(test.workflow(:'a'), (select min(h.seq) from bpm.get_history(:'a') h where h.kind = 'InstanceMigrated') - 1) r), '{"one Waiting"}', 'replay up to before the first one');
select count(test.complete_next('one')) as done from generate_series(1, 2) \gset
select is(test.status(:'a') || test.status(:'a2') || test.broken()::text, 'CompletedCompleted{}', 'both end');

-- Nodes that are missing or another kind of element
select pg_temp.deploy('miss', test.service('old') || '<endEvent id="end"/>' || test.flows('start>old', 'old>end')) \gset
select test.start('miss') as b \gset
select pg_temp.deploy('miss', test.service('new') || '<userTask id="person"/><endEvent id="end"/>' || test.flows('start>new', 'new>person', 'person>end')) \gset
select is(pg_temp.plan(:'b'), '{"token old > keep NodeMissing"}', 'the plan says that the node is missing');
select is(pg_temp.refusals(:'b'), 'BP422 ["NodeMissing"]', 'so it is refused');
select is(pg_temp.refusals(:'b', 2, '{"old": "person"}'), 'BP422 ["KindDiffers"]', 'a task for a person is another kind');
select is(pg_temp.plan(:'b', 2, '{"old": "new"}'), '{"token old > new rename"}', 'mapped to a node of its kind');
select is(pg_temp.migrate(:'b', 2, '{"old": "new"}'), '1 2 ["rename"]', 'it goes');
select is((select t.node_id || ' ' || t.task_type from bpm.task t where t.process_instance_id = :'b'), 'new new', 'the task is offered as that of the new version');
select is(test.complete_next('new') is not null, true, 'and is handed out as such');
select is(test.standing(:'b')::text || test.broken()::text, '{"person Waiting"}{}', 'and the person follows');

-- C13: another message, or another key; C14: a message becomes a timer
select pg_temp.deploy('wait', pg_temp.catch('w', 'a') || '<endEvent id="end"/>' || test.flows('start>w', 'w>end')) \gset
select pg_temp.deploy('wait', pg_temp.catch('w', 'b') || '<endEvent id="end"/>' || test.flows('start>w', 'w>end')) \gset
select s.process_instance_id as c from bpm.start_process('wait', '{}', 'W-1', p_version => 1) s \gset
select is(pg_temp.refusals(:'c'), 'BP422 ["NameDiffers"]', 'a wait for another message (C13)');
select pg_temp.deploy('guard', test.service('work') || pg_temp.boundary('late', 'work', 'a') || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset
select pg_temp.deploy('guard', test.service('work') || test.timer('late', '<timeDuration>PT1H</timeDuration>', 'work') || '<endEvent id="gone"/><endEvent id="end"/>' || test.flows('start>work', 'work>end', 'late>gone')) \gset
select pg_temp.deploy('guard', test.service('work') || pg_temp.boundary('late', 'work', 'b') || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset
select pg_temp.deploy('guard', test.service('work') || '<endEvent id="end"/>' || test.flows('start>work', 'work>end')) \gset
select s.process_instance_id as d from bpm.start_process('guard', '{}', 'G-1', p_version => 1) s \gset
select is(pg_temp.refusals(:'d', 2), 'BP422 ["KindDiffers"]', 'a message boundary becomes a timer boundary (C14)');
select is(pg_temp.refusals(:'d', 3), 'BP422 ["NameDiffers"]', 'it waits for another message');
select is(pg_temp.refusals(:'d', 4), 'BP422 ["NodeMissing"]', 'it is gone: never a silent orphan');
select is(pg_temp.plan(:'d', 3, '{"late": null}'), '{"event > late open","token work > work keep","wait late > close"}', 'given up in the mapping: the old wait is closed, the new one opened, and the plan says so');
select is(pg_temp.migrate(:'d', 3, '{"late": null}'), '1 3 ["close", "open"]', 'so it is done, and said');
select is((select array_agg(s.name || ' ' || s.state order by s.name) from bpm_core.subscription s where s.workflow_instance_id = test.workflow(:'d')), '{"a Closed","b Open"}', 'it waits for the other message');
select is(test.broken(), '{}', 'invariants hold after that');
select is((select m.state from bpm.correlate_message('b', 'G-1') m) || test.visits(:'d', 'end_late'), 'Correlated1', 'and gets it');
select s.process_instance_id as d from bpm.start_process('guard', '{}', 'G-2', p_version => 1) s \gset
select is(pg_temp.migrate(:'d', 4, '{"late": null}') || (select string_agg(s.state::text, '') from bpm_core.subscription s where s.workflow_instance_id = test.workflow(:'d')), '1 4 ["close"]Open', 'it can be given up altogether');
select is(test.broken(), '{}', 'invariants hold without it');
select s.process_instance_id as d from bpm.start_process('guard', '{}', 'G-3', p_version => 4) s \gset
select is(pg_temp.migrate(:'d', 2), '4 2 ["open"]', 'a boundary event that is new is opened');
select is((select m.status from bpm.timer m where m.process_instance_id = :'d') || test.broken()::text, 'Scheduled{}', 'its timer runs');
select is(pg_temp.refusals(:'d', 3), 'BP422 ["KindDiffers"]', 'and back it is another kind');

-- Timers keep their due time
select test.deploy('tick', test.timer('t', '<timeDuration>PT1H</timeDuration>') || '<endEvent id="end"/>' || test.flows('start>t', 't>end')) \gset
select test.start('tick') as e \gset
select m.due_at as due from bpm.timer m where m.process_instance_id = :'e' \gset
select test.deploy('tick', test.timer('later', '<timeDuration>PT9H</timeDuration>') || '<endEvent id="end"/>' || test.flows('start>later', 'later>end')) \gset
select is(pg_temp.migrate(:'e', 2, '{"t": "later"}'), '1 2 ["rename", "rename"]', 'a timer event');
select is((select m.node_id || ' ' || (m.due_at = :'due') from bpm.timer m where m.process_instance_id = :'e') || test.broken()::text, 'later true{}', 'keeps its due time');

-- Joins: rounds count by flow
select test.deploy('join', '<parallelGateway id="f"/>' || test.service('x') || test.service('y') || '<parallelGateway id="j"/><endEvent id="end"/>' || test.flows('start>f', 'f>x', 'f>y', 'x>j', 'y>j', 'j>end')) \gset
select test.start('join') as f \gset
select test.start('join') as g \gset
select test.complete_next('x') as done \gset
select test.deploy('join', '<parallelGateway id="f"/>' || test.service('x') || test.service('y') || test.service('z') || '<parallelGateway id="j"/><endEvent id="end"/>' || test.flows('start>f', 'f>x', 'f>y', 'f>z', 'x>j', 'y>j', 'z>j', 'j>end')) \gset
select test.deploy('join', '<parallelGateway id="f"/>' || test.service('x') || test.service('y') || '<parallelGateway id="j"/>' || test.service('last') || '<endEvent id="end"/>' || test.flows('start>f', 'f>x', 'f>y', 'x>j', 'y>j', 'j>last', 'last>end')) \gset
select is(pg_temp.refusals(:'f', 2), 'BP422 ["FlowsDiffer"]', 'a join that waits, with another flow');
select is(pg_temp.migrate(:'g', 2), '1 2 []', 'where nobody has come yet it may have other flows');
select is(pg_temp.migrate(:'f', 3), '1 3 []', 'with the same flows it goes');
select bpm.cancel_process(:'g') is not null as cancelled \gset
select test.complete_next('y') as done \gset
select is(test.standing(:'f')::text || test.broken()::text, '{"last Waiting"}{}', 'and the join fires there');

-- Inclusive joins: what waits is told in the places of the new version, and is asked again
create function pg_temp.incl(p_flows text, p_more text default '') returns text language sql as $$
  select '<inclusiveGateway id="s" default="s_z"/>' || test.service('x') || test.service('y') || test.service('z') || '<inclusiveGateway id="j"/><endEvent id="end"/>' || p_more
         || test.when('s>x', '${x == true}') || test.when('s>y', '${y == true}') || p_flows $$;
select test.deploy('incl', pg_temp.incl(test.flows('start>s', 's>z', 'x>j', 'y>j', 'z>j', 'j>end'))) \gset
select test.start('incl', '{"x": true, "y": true}') as i \gset
select test.complete_next('x') as done \gset
select test.deploy('incl', pg_temp.incl(test.flows('j>end', 'z>j', 'y>j', 'x>j', 'start>s', 's>z'))) \gset
select test.deploy('incl', pg_temp.incl(test.flows('start>s', 's>z', 'x>j', 'y>m', 'm>j', 'z>j', 'j>end'), '<task id="m"/>')) \gset
select is(pg_temp.migrate(:'i', 2), '1 2 []', 'an inclusive join that waits, with the same flows in another order');
select is(test.standing(:'i')::text || test.broken()::text, '{"j Waiting","y Waiting"}{}', 'goes on waiting');
select is(pg_temp.refusals(:'i', 3), 'BP422 ["FlowsDiffer"]', 'with other flows it is refused');
select test.complete_next('y') as done \gset
select is(test.status(:'i') || test.broken()::text, 'Completed{}', 'and fires with what came');

-- C15: a multi-instance sub-process with a boundary event, and sub-processes in general
create function pg_temp.house(p_inner text, p_more text default '') returns text language sql as $$
  select format('<subProcess id="sub"><startEvent id="in"/>%s<endEvent id="out"/>%s</subProcess>%s<endEvent id="end"/>', test.service('deep'), test.flows('in>deep', 'deep>out') || p_inner, p_more)
         || pg_temp.boundary('stop', 'sub', 'a') || test.flows('start>sub', 'sub>end') $$;
select pg_temp.deploy('house', pg_temp.house('')) \gset
select test.start('house', '{}', 'H-1') as h \gset
select pg_temp.deploy('house', '<documentation>again</documentation>' || pg_temp.house('', test.service('never') || '<endEvent id="e3"/>' || '<exclusiveGateway id="gw" default="gw_never"/>' || test.flows('gw>never', 'never>e3') || '<boundaryEvent id="also" attachedToRef="sub" cancelActivity="false"><messageEventDefinition messageRef="m_b"/></boundaryEvent>' || test.flows('also>gw'))) \gset
select is(pg_temp.plan(:'h'), '{"event > also open","token deep > deep keep","token sub > sub keep","wait stop > stop keep"}', 'a sub-process with a boundary event: the host, what is inside, its waits');
select is(pg_temp.migrate(:'h'), '1 2 ["open"]', 'identical structure is accepted, an event is added');
select is(test.broken(), '{}', 'invariants hold in scopes');
select is((select m.state from bpm.correlate_message('b', 'H-1') m) || test.standing(:'h')::text, 'Correlated{"deep Waiting","never Waiting","sub Waiting"}', 'it gets its message');
select is(test.standing(:'h')::text || test.broken()::text, '{"deep Waiting","never Waiting","sub Waiting"}{}', 'and the new token goes where it did not go before');
select pg_temp.deploy('house', test.service('deep') || '<endEvent id="end"/>' || test.flows('start>deep', 'deep>end')) \gset
select test.start('house', '{}', 'H-2') as h2 \gset
select is(pg_temp.refusals(:'h', 3), 'BP422 ["ScopeDiffers", "NodeMissing", "NodeMissing", "NodeMissing", "NodeMissing"]', 'out of a sub-process: refused, with everything that stands in the way');

create function pg_temp.crowd(p_times text, p_rest text default '') returns text language sql as $$
  select format('<subProcess id="sub"><multiInstanceLoopCharacteristics><loopCardinality>%s</loopCardinality></multiInstanceLoopCharacteristics><startEvent id="in"/>%s<endEvent id="out"/>%s</subProcess><endEvent id="end"/>',
                p_times, test.service('mob'), test.flows('in>mob', 'mob>out'))
         || pg_temp.boundary('stop', 'sub', 'a') || p_rest || test.flows('start>sub') $$;
select pg_temp.deploy('crowd', pg_temp.crowd('3', test.flows('sub>end'))) \gset
select test.start('crowd', '{}', 'N-1') as n \gset
select test.complete_next('mob') as done \gset
select pg_temp.deploy('crowd', pg_temp.crowd('3', test.service('after') || test.flows('sub>after', 'after>end'))) \gset
select pg_temp.deploy('crowd', pg_temp.crowd('4', test.flows('sub>end'))) \gset
select is((select jsonb_path_query_array(e.e, '$.detail.refusals[*].code') from kit.raised(format('select bpm.migrate_process(%L, 3)', :'n')) e(e)), '["BodyDiffers"]', 'a multi-instance that is defined otherwise is refused');
select is(pg_temp.migrate(:'n', 2) || test.broken()::text, '1 2 []{}', 'a multi-instance sub-process with a boundary event, of the same structure, is accepted (C15)');
select count(test.complete_next('mob')) as done from generate_series(1, 2) \gset
select is(test.standing(:'n')::text || test.broken()::text, '{"after Waiting"}{}', 'it ends as it began, and goes on in the new version');
select s.process_instance_id as n from bpm.start_process('crowd', '{}', 'N-3', p_version => 1) s \gset
select pg_temp.migrate(:'n', 2) as moved \gset
select is((select m.state from bpm.correlate_message('a', 'N-3') m) || test.broken()::text, 'Correlated{}', 'its boundary event still ends all of it');

-- A multi-instance whose node has another id there
create function pg_temp.choir(p_id text) returns text language sql as $$
  select format('<serviceTask id="%1$s" bpm:type="sing"><multiInstanceLoopCharacteristics isSequential="true"><loopCardinality>3</loopCardinality></multiInstanceLoopCharacteristics></serviceTask><endEvent id="end"/>', p_id)
         || test.flows('start>' || p_id, p_id || '>end') $$;
select pg_temp.deploy('choir', pg_temp.choir('sing')) \gset
select test.start('choir', '{}', 'S-1') as s \gset
select test.complete_next('sing') as done \gset
select pg_temp.deploy('choir', pg_temp.choir('chant')) \gset
select is(pg_temp.migrate(:'s', 2, '{"sing": "chant"}') || test.broken()::text, '1 2 ["rename", "rename"]{}', 'renamed, with the items that go on');
select is((select array_agg(m.node_id) from bpm_core.multi_instance m where m.workflow_instance_id = test.workflow(:'s')), '{chant:multi}', 'and those still to come');
select count(test.complete_next('sing')) as done from generate_series(1, 2) \gset
select is(test.status(:'s') || test.broken()::text, 'Completed{}', 'it ends as it began');

-- What may still be undone
create function pg_temp.trip(p_handler text, p_more text default '') returns text language sql as $$
  select test.service('book') || format('<boundaryEvent id="undo" attachedToRef="book"><compensateEventDefinition/></boundaryEvent><serviceTask id="%1$s" bpm:type="%1$s" isForCompensation="true"/><association id="as" sourceRef="undo" targetRef="%1$s"/>', p_handler)
         || test.service('think') || '<intermediateThrowEvent id="back"><compensateEventDefinition/></intermediateThrowEvent><endEvent id="end"/>' || p_more
         || test.flows('start>book', 'book>think', 'think>back', 'back>end') $$;
select test.deploy('trip', pg_temp.trip('unbook')) \gset
select test.start('trip') as t \gset
select test.complete_next('book') as done \gset
select test.deploy('trip', pg_temp.trip('cancel')) \gset
select is(pg_temp.refusals(:'t'), 'BP422 ["HandlerMissing"]', 'a step that may still be undone, without its handler');
select is(pg_temp.migrate(:'t', 2, '{"unbook": "cancel"}') || test.broken()::text, '1 2 ["rename"]{}', 'mapped to another');
select test.complete_next('think') as done \gset
select is((test.complete_next('cancel') is not null)::text, 'true', 'which undoes it');
select is(test.status(:'t') || test.broken()::text, 'Completed{}', 'in the new version');

-- While it is suspended, with an answer parked
select pg_temp.deploy('calm', test.service('one') || '<endEvent id="end"/>' || test.flows('start>one', 'one>end')) \gset
select test.start('calm') as k \gset
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{one}') c \gset
select pg_temp.deploy('calm', test.service('uno') || test.timer('soon', '<timeDuration>PT1H</timeDuration>', 'uno') || '<endEvent id="gone"/>' || test.service('due') || '<endEvent id="end"/>' || test.flows('start>uno', 'uno>due', 'due>end', 'soon>gone')) \gset
select bpm.suspend_process(:'k') is not null as suspended \gset
select bpm.complete_task(:'task_id', :fencing_token) is not null as completed \gset
select is(pg_temp.migrate(:'k', 2, '{"one": "uno"}'), '1 2 ["rename", "open"]', 'a suspended one');
select is((select m.status from bpm.timer m where m.process_instance_id = :'k') || test.broken()::text, 'Held{}', 'what it adds is held');
select bpm.resume_process(:'k') is not null as resumed \gset
select bpm.run_until_idle() is not null as ran \gset
select is(test.standing(:'k')::text || test.broken()::text, '{"due Waiting"}{}', 'the parked answer goes on in the new version');

-- Failed and parked tokens, incidents, approvals
select kit.deploy_gated('gate', false) \gset
select test.start('gate') as l \gset
select pg_temp.deploy('fail', '<exclusiveGateway id="gw"/>' || test.service('yes') || '<endEvent id="end"/>' || test.when('gw>yes', '${ok == true}') || test.flows('start>gw', 'yes>end')) \gset
select test.start('fail') as m \gset
select pg_temp.deploy('fail', '<exclusiveGateway id="gate"/>' || test.service('yes') || test.service('no') || '<endEvent id="end"/>' || test.when('gate>yes', '${ok == true}') || test.when('gate>no', '${ok != true}') || test.flows('start>gate', 'yes>end', 'no>end')) \gset
select is(pg_temp.migrate(:'m', 2, '{"gw": "gate"}') || test.incidents(:'m')::text, '1 2 ["rename"]{"NoFlowTrue gate"}', 'a token that failed');
select is(test.incidents(:'m')::text || test.broken()::text, '{"NoFlowTrue gate"}{}', 'its incident goes with it');
select bpm.resolve_incident(i.incident_id) is not null as resolved from bpm.incident i where i.process_instance_id = :'m' and i.state = 'Open' \gset
select is(test.standing(:'m')::text || test.broken()::text, '{"no Waiting"}{}', 'and is resolved by the new drawing');

-- Many at once, in batches
select pg_temp.deploy('many', test.service('s') || '<endEvent id="end"/>' || test.flows('start>s', 's>end')) \gset
select count(*) as started from bpm.start_processes((select jsonb_agg(jsonb_build_object('code', 'many')) from generate_series(1, 5))) \gset
select test.fail_next('s', false) as failed \gset
select pg_temp.deploy('many', test.service('s') || test.timer('t', '<timeDuration>PT1H</timeDuration>', 's') || '<endEvent id="late"/><endEvent id="end"/>' || test.flows('start>s', 's>end', 't>late')) \gset
select array_agg(m.process_instance_id order by m.process_instance_id) as seen, array_agg(m.outcome::text order by m.outcome) as outcomes from bpm.migrate_processes('many', 1, 2, p_limit => 3) m \gset
select is((select count(*) from unnest(:'seen'::uuid[])), 3::bigint, 'at most the limit');
select is((select count(*) from bpm.migrate_processes('many', 1, 2, p_limit => 3, p_after => (:'seen'::uuid[])[3])), 2::bigint, 'then those after it');
select is((select array_agg(m.outcome || ' ' || (m.refusals -> 0 ->> 'code')) from bpm.migrate_processes('many', 1, 2) m), '{"Rejected TokenFailed"}', 'one is refused, and stays');
select is((select string_agg(i.process_version::text, '' order by i.process_version) from bpm.instance i where i.process_code = 'many') || test.broken()::text, '12222{}', 'the others were moved');

-- Refused
select throws_ok(format('select * from bpm.%s(%s)', x.call, replace(x.args, '$', quote_literal(:'l'))), x.code, null, format('%s: %s', x.call, x.why))
  from (values
    ('plan_migration', 'null, 1', 'BP404', 'no instance'), ('plan_migration', '$, 9', 'BP404', 'no such version'), ('plan_migration', '$, null', 'BP404', 'no version'),
    ('plan_migration', '$, 1, ''[]''', 'BP422', 'a mapping that is none'), ('migrate_process', '$, 1, ''{"a": 1}''', 'BP422', 'mapped to a number'),
    ('migrate_process', '$, 1, ''{"zz": "a"}''', 'BP422', 'a node the old version has not'), ('migrate_process', '$, 1, ''{"a": "zz"}''', 'BP422', 'a node the new version has not'),
    ('migrate_process', '$, 1, ''{"a": "end", "end": "end"}''', 'BP422', 'two nodes to one'), ('migrate_process', '$, 1, p_reason => repeat(''x'', 4001)', 'BP422', 'a reason too long'),
    ('migrate_processes', '''gate'', 1, 1, p_limit => 0', 'BP422', 'no limit'), ('migrate_processes', '''gate'', 7, 1', 'BP404', 'from no version')) x(call, args, code, why);
select throws_ok(format('select * from bpm.migrate_process(%L, 1)', :'a'), 'BP409', null, 'one that has ended');
select is(test.broken(), '{}', 'invariants hold at the end');
select * from finish();
rollback;
