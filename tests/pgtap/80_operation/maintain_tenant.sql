-- bpm.maintain_tenant: process instances that have had their time leave, whole, with what is below them; what must stay stays.
begin;
select plan(70);
-- What every call says: outcome, removed, kept and why.
create function pg_temp.remove(p_kind text default 'instances', p_limit integer default 500) returns text language sql as $$
  select concat_ws(' ', m.outcome, m.removed, m.kept, nullif(m.reasons, '{}')::text) from bpm.maintain_tenant(p_kind, p_limit) m $$;
create function pg_temp.rows() returns jsonb language sql as $$
  select jsonb_object_agg(c.relname, (xpath('/row/n/text()', query_to_xml(format('select count(*) as n from %s', c.oid::regclass), false, true, '')))[1]::text::integer)
    from pg_class c
   where c.relnamespace = 'bpm_core'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition $$;

-- Everything that can be, from beginning to end
select from bpm.register_destination('courier', p_config => '{"url": "http://c.example/"}');
select bpm.set_setting('engine.approval_required_task_types', '["release-gated"]') \g /dev/null
select from bpm.deploy_bpmn(test.linear('line', 'a'));
select kit.deploy('booked',
  '<serviceTask id="a" bpm:type="release" bpm:approval="required"/><sendTask id="b" bpm:destination="courier"/>
   <intermediateCatchEvent id="c"><timerEventDefinition><timeDuration>PT1S</timeDuration></timerEventDefinition></intermediateCatchEvent><endEvent id="end"/>
   <sequenceFlow id="f1" sourceRef="a" targetRef="b"/><sequenceFlow id="f2" sourceRef="b" targetRef="c"/><sequenceFlow id="f3" sourceRef="c" targetRef="end"/>');
select * from bpm.start_process('booked', '{"amount": 7}', 'T-1', 'key-1') \gset
create temp table first as select pg_temp.rows() as rows;
select from bpm.decide_approval((kit.approval(:'workflow_instance_id')).id, 'Approved', 'known to us', 'ann', '[]');
select c.task_id, c.fencing_token from bpm.claim_tasks('w', '{release}') c \gset
select from bpm.complete_task(:'task_id', :fencing_token, '{"n": 1}',
  p_facts => '[{"subject_type": "order", "subject_key": "T-1", "name": "released", "value": true, "evidence": [0]}]',
  p_evidence => jsonb_build_array(jsonb_build_object('object_key', 'mails/1', 'sha256', repeat('ab', 32))));
select test.deliver_next() \g /dev/null
select bpm.advance_clock('2 seconds') \g /dev/null
select from bpm.run_until_idle();
select is(test.status(:'process_instance_id'), 'Completed', 'one has ended');
select test.start('line', '{}', 'T-2') as running \gset

select is(pg_temp.remove(), 'Off 0 0', 'by default everything is kept');
select bpm.set_setting('retention.instance_days', '30') \g /dev/null
select is(pg_temp.remove(), 'Done 0 0', 'what ended just now has not had its time');
select bpm.advance_clock('29 days') \g /dev/null
select is(pg_temp.remove(), 'Done 0 0', 'nor on the day before');
select bpm.advance_clock('25 hours') \g /dev/null
select is(pg_temp.remove(), 'Done 1 0', 'then it goes');
select is(test.broken(), '{}', 'nothing is broken');
select is_empty($$select from bpm_core.token t where t.workflow_instance_id not in (select w.id from bpm_core.workflow_instance w)$$, 'no token of it is left');
select is(test.status(:'process_instance_id'), null, 'nor itself');
select is((select count(*) from bpm_core.task_instance) + (select count(*) from bpm_core.outbox) + (select count(*) from bpm_core.timer)
          + (select count(*) from bpm_core.approval_record) + (select count(*) from bpm_core.delivery_attempt), 1::bigint, 'nor anything below it; that which runs has its task');
select is(test.status(:'running'), 'Running', 'what has not ended stays, however old');

-- What stays
select ok((select count(*) > 5 from bpm.history h where h.workflow_instance_id = :'workflow_instance_id'), 'history stays, till its month is dropped');
select is((select f.task_id from bpm.get_facts('order', 'T-1') f), :'task_id', 'facts stay');
select isnt_empty(format('select from bpm_core.result r where r.task_instance_id = %L', :'task_id'), 'with the result they rest on');
select isnt_empty(format('select from bpm_core.result_evidence r where r.task_instance_id = %L', :'task_id'), 'and what it came with');
select isnt_empty(format('select from bpm_core.execution r where r.task_instance_id = %L', :'task_id'), 'and who it came from');
select is((select s.process_instance_id || ' ' || s.status || ' ' || s.is_new from bpm.start_process('booked', '{"amount": 7}', 'T-1', 'key-1') s),
          :'process_instance_id' || ' Completed false', 'its key still answers, with the status it ended with');
select is((select c.state from bpm_core.business_case c where c.business_key = 'T-1'), 'Open', 'its case stays');

-- What is told of it
select is((select t.kind || ': ' || t.what || ' by ' || t.actor || ' ' || (t.detail ->> 'status') from bpm.get_trail(:'process_instance_id') t),
          'InstanceRemoved: removed with all its rows, 30 days after it ended (Completed) by postgres Completed', 'the trail says that it was removed, when, and by whom');
select is((select string_agg(t.kind, ' ') from bpm.get_trail(p_business_key => 'T-1') t), 'InstanceRemoved', 'also by its key');
select is((select count(*) from bpm.get_trail(:'process_instance_id', p_after_seq => (select t.seq from bpm.get_trail(:'process_instance_id') t))), 0::bigint, 'once');
select is((select (a.detail ->> 'process_instances') || ' ' || (a.detail #>> '{rows,outbox}') from bpm_core.audit_event a where a.action = 'RemoveInstances'), '1 1', 'the audit has the numbers');
select throws_ok(format('select bpm.get_process(%L)', :'process_instance_id'), 'BP404', null, 'it cannot be shown any more');
select throws_ok(format('select bpm.restart_process(%L)', :'process_instance_id'), 'BP404', null, 'nor started again');

-- What keeps an instance
select kit.deploy_gated('frail', false);
select test.start('frail') as failed \gset
select test.decide(:'failed', 'Rejected') \g /dev/null
select from bpm.run_until_idle();
select is(test.status(:'failed'), 'Failed', 'one failed');
select kit.deploy('sent', '<sendTask id="a" bpm:destination="courier"/><endEvent id="end"/><sequenceFlow id="f1" sourceRef="a" targetRef="end"/>');
select test.start('sent') as unknown \gset
select test.deliver_next('Unknown') \g /dev/null
select from bpm.deploy_bpmn(test.bpmn('told',
  '<startEvent id="start"/><intermediateCatchEvent id="c"><messageEventDefinition messageRef="m"/></intermediateCatchEvent><endEvent id="end"/>' || test.flows('start>c', 'c>end'),
  '<message id="m" name="m"/>'));
select bpm.cancel_process(:'unknown') \g /dev/null
select bpm.advance_clock('31 days') \g /dev/null
select is((select m.outcome || ' ' || m.removed || ' ' || m.kept || ' ' || m.reasons from bpm.maintain_tenant() m),
          'Done 0 2 {"command": 1, "dead_letter": 1}', 'both are kept, and it is said why');
select is((select m.oldest_kept from bpm.maintain_tenant() m), :'failed', 'and which is the oldest');
select bpm.discard_dead_letter(d.dead_letter_id) from bpm.dead_letter d where d.state = 'Open' \g /dev/null
select bpm.reconcile_command(c.command_id, 'Sent', p_reason => 'called them') from bpm.command c where c.state = 'Unknown' \g /dev/null
select is(pg_temp.remove(), 'Done 2 0', 'once a person has settled them they go');
select is(test.broken(), '{}', 'nothing is broken');

-- A call and whom it called go together
select from bpm.deploy_bpmn(test.bpmn('caller',
  '<startEvent id="start"/><callActivity id="call" calledElement="line"/><endEvent id="end"/>' || test.flows('start>call', 'call>end')));
select test.start('caller') as caller \gset
select bpm.cancel_process(:'caller') \g /dev/null
select bpm.advance_clock('31 days') \g /dev/null
select is(pg_temp.remove(), 'Done 0 1 {"unfinished": 1}', 'a child that has not heard of it yet keeps its parent');
select from bpm.run_until_idle();
select bpm.advance_clock('31 days') \g /dev/null
select is(pg_temp.remove(), 'Done 1 0', 'then the tree goes as a whole');
select is((select cardinality(r.workflow_instances) from bpm_core.removed_instance r where r.id = :'caller'), 2, 'both');

-- A message id is known as long as a key
select test.start('told', '{}', 'K') as told \gset
select bpm.correlate_message('m', 'K', '{}', p_message_id => 'm-1') as message \gset
select from bpm.run_until_idle();
select is(test.status(:'told'), 'Completed', 'a message ended it');
select bpm.advance_clock('31 days') \g /dev/null
select is(pg_temp.remove(), 'Done 0 1 {"message": 1}', 'its message may still be repeated');
select bpm.advance_clock('60 days') \g /dev/null
select is(pg_temp.remove(), 'Done 1 0', 'not any more');
select is_empty('select from bpm_core.message', 'they went together');

-- Each process its own time
select from bpm.deploy_bpmn(test.linear('short', 's'));
select test.start('line') as line \gset
select test.complete_next('a') is not null and test.complete_next('a') is not null as two \gset
select test.start('short') as short \gset
select test.complete_next('s') \g /dev/null
select test.start('sent') as sent \gset
select test.deliver_next() \g /dev/null
select throws_ok($$select bpm.set_setting('retention.process_days', '{"a": -1}')$$, 'BP400', null, 'days are days');
select throws_ok($$select bpm.set_setting('retention.process_days', '[1]')$$, 'BP400', null, 'of processes');
select throws_ok($$select bpm.set_setting('retention.instance_days', '-1')$$, 'BP400', null, 'not less than none');
select throws_ok($$select bpm.set_setting('retention.event_days', '6')$$, 'BP400', null, 'events are kept a week at least');
select throws_ok($$select bpm.set_setting('retention.history_months', '0')$$, 'BP400', null, 'history a month');
select bpm.set_setting('retention.process_days', '{"short": 1, "line": null}') \g /dev/null
select bpm.advance_clock('2 days') \g /dev/null
select is(pg_temp.remove(), 'Done 1 0', 'a process with a shorter time');
select is(test.status(:'short'), null, 'that one');
select bpm.advance_clock('40 days') \g /dev/null
select is(pg_temp.remove(), 'Done 1 0', 'the others as the rest');
select is(test.status(:'line') || coalesce(test.status(:'sent'), ' '), 'Completed ', 'one that is kept for ever');
select bpm.set_setting('retention.process_days', null) \g /dev/null
select is(pg_temp.remove(), 'Done 2 0', 'till the setting says otherwise');

-- Page by page
select from bpm.start_processes((select jsonb_agg('{"code": "short"}'::jsonb) from generate_series(1, 7)));
select test.complete_next('s') from generate_series(1, 7) \g /dev/null
select bpm.advance_clock('31 days') \g /dev/null
select results_eq($$select m.outcome, m.removed, m.removed_in_pass from generate_series(1, 3) n cross join lateral bpm.maintain_tenant('instances', 3 + 0 * n) m$$,
  $$values ('More', 3, 3::bigint), ('More', 3, 6), ('Done', 1, 7)$$, 'a page at a time, and the last one says so');
select is(test.broken(), '{}', 'nothing is broken');

-- Events, messages, traces
select from bpm.set_routing_rule('open', 'opened', 'StartProcess', p_process_code => 'short');
select from bpm.accept_event('chat', 'e-1', 'opened');
select from bpm.accept_event('chat', 'e-2', 'unheard');
select from bpm.accept_event('chat', 'e-3', 'noise');
select from bpm.dispatch_event((select e.event_id from bpm.event e where e.provider_event_id = 'e-3'), '{"action": "Ignore"}', 'noise');
select from bpm.run_until_idle();
select from bpm.correlate_message('nobody', 'k', p_ttl => '1 minute');
select bpm.advance_clock('100 days') \g /dev/null
select from bpm.run_until_idle();
select is(pg_temp.remove('events'), 'Off 0 0', 'events are kept by default');
select bpm.set_setting('retention.event_days', '90') \g /dev/null
select is(pg_temp.remove('events'), 'Done 1 1 {"linked": 1}', 'what is decided goes; what started an instance after it; what waits stays');
select test.complete_next('s') \g /dev/null
select bpm.advance_clock('31 days') \g /dev/null
select is(pg_temp.remove() || ' ' || pg_temp.remove('events'), 'Done 1 0 Done 1 0', 'first the instance, then its event');
select is((select string_agg(e.provider_event_id, ' ') from bpm.event e), 'e-2', 'one waits');
select is(pg_temp.remove('messages'), 'Done 1 0', 'a message that reached nobody');
select is(pg_temp.remove('traces'), 'Off 0 0', 'traces stay as long as history');

-- Signals
select from bpm.deploy_bpmn('<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="t"><signal id="s" name="alarm"/><process id="listens" isExecutable="true">
  <startEvent id="start"/><sequenceFlow id="f1" sourceRef="start" targetRef="a"/><intermediateCatchEvent id="a"><signalEventDefinition signalRef="s"/></intermediateCatchEvent>
  <sequenceFlow id="f2" sourceRef="a" targetRef="end"/><endEvent id="end"/></process></definitions>');
select s.signal_id as first from bpm.broadcast_signal('alarm', '{"n": 1}', 'key-s1') s \gset
select is(pg_temp.remove('signals'), 'Done 0 0', 'a signal that was just sent stays');
select test.start('listens', '{}', 'L-1') as listens \gset
select from bpm.suspend_process(:'listens');
select s.signal_id as second, s.receivers from bpm.broadcast_signal('alarm', '{"n": 2}', 'key-s2') s \gset
select is(:receivers, 1, 'somebody is to hear the second, and is suspended');
select from bpm.run_until_idle();
select bpm.advance_clock('1 second') \g /dev/null
select from bpm.broadcast_signal('alarm', '{"n": 3}', 'key-s3');
delete from bpm_core.inbox i where i.kind = 'Signal' and (select g.payload from bpm_core.signal g where g.id = (i.payload ->> 'signal')::uuid) = '{"n": 3}';
select bpm.advance_clock('91 days') \g /dev/null
select is(pg_temp.remove('signals', 1), 'More 1 0', 'the first has had its time');
select is(pg_temp.remove('signals', 1), 'Done 0 0', 'the second is still to be heard, and what came after it stays behind it');
select is(test.broken(), '{}', 'a key whose signal is gone still answers');
select is((select s.signal_id from bpm.broadcast_signal('alarm', '{"n": 2}', 'key-s2') s where not s.is_new), :'second'::uuid, 'as do those that are there');
select from bpm.resume_process(:'listens');
select from bpm.run_until_idle();
select is(test.status(:'listens'), 'Completed', 'it is heard when its receiver goes on');
select is(pg_temp.remove('signals'), 'Done 2 0', 'then both go');
select is(test.broken(), '{}', 'nothing is broken');
select is(test.broken(), '{}', 'nothing is broken');

-- Refused
select throws_ok($$select bpm.maintain_tenant('tokens')$$, 'BP400', null, 'a kind');
select throws_ok($$select bpm.maintain_tenant(null)$$, 'BP400', null, 'no kind');
select throws_ok($$select bpm.maintain_tenant('instances', 0)$$, 'BP422', null, 'a limit');
select throws_ok($$select bpm.maintain_tenant(p_tenant_id => 'nobody')$$, 'BP403', null, 'a tenant');

-- Nothing that hangs on an instance is forgotten when a table is added: it is removed, or stays for a reason.
select set_eq(
  $$select c.relname::text from pg_class c join pg_attribute a on a.attrelid = c.oid
     where c.relnamespace = 'bpm_core'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and a.attnum > 0 and not a.attisdropped
       and a.attname in ('process_instance_id', 'workflow_instance_id', 'task_instance_id', 'token_id', 'host_token_id', 'approval_id', 'outbox_id', 'scope_id', 'started_id')$$,
  $$values ('workflow_instance'), ('instance_migration'), ('scope'), ('multi_instance'), ('multi_instance_part'), ('token'), ('parallel_join'), ('parallel_join_arrival'),
           ('inclusive_join'), ('compensation_record'), ('timer'), ('subscription'), ('message'), ('incident'), ('task_instance'), ('task_comment'), ('execution'), ('result'),
           ('rejected_result'), ('task_evidence'), ('result_evidence'), ('dead_letter'), ('approval_record'), ('approval_vote'), ('review'), ('outbox'), ('delivery_attempt'),
           ('event_process_instance'), ('task_event'),
           ('history_event'), ('fact'), ('quota_slot')$$, 'tables of instances: all but the last three are emptied by bpm_core.remove_instances; no task of what has ended holds a slot (I-29)');

-- What grows is vacuumed in time, what is removed above all.
select set_eq(
  $$select c.relname::text from pg_class c
     where c.relnamespace = 'bpm_core'::regnamespace and c.relkind = 'r' and not exists (select from unnest(c.reloptions) o where o like 'autovacuum\_vacuum%')$$,
  $$values ('destination'), ('inclusive_flow'), ('inclusive_reach'), ('instance_migration'), ('process_definition'), ('process_version'), ('process_workflow_binding'),
           ('role_definition'), ('role_version'), ('routing_rule'), ('routing_state'), ('session_scope_link'), ('setting'), ('task_definition'), ('task_level'), ('task_quota'), ('task_version'), ('tenant'),
           ('tenant_grant'), ('schema_migrations'), ('test_clock'), ('token_transition'), ('workflow_definition'), ('workflow_flow'), ('workflow_node'), ('workflow_task_binding'), ('workflow_version')$$,
  'only what is small and seldom written has no autovacuum settings');
select from bpm.maintain_partitions(40);
select is_empty($$select c.relname from pg_class c where c.relispartition and c.relkind = 'r' and not c.reloptions @> '{autovacuum_vacuum_insert_scale_factor=0.05}'$$,
  'each month of history has them, also those made later');
select * from finish();
rollback;
