-- What the invariants catch of processes of several workflows: each kind of damage is done, found, and undone.
begin;
select plan(22);
select test.single_steps('a', 'b', 'c');
select test.several('three', '[{"key": "a"}, {"key": "b"}, {"key": "c", "depends_on": ["a", "b"]}]');
create function pg_temp.p(p_key text) returns uuid language sql as $$ select i.process_instance_id from bpm.instance i where i.business_key = p_key $$;
create function pg_temp.w(p_key text, p_binding text) returns uuid language sql as $$ select test.workflow_of(pg_temp.p(p_key), p_binding) $$;
-- One that has ended, one that waits for the inbox, one under way, one half way, one failed
select test.start('three', '{"n": 1}', x.key) from unnest('{done,told,half,fresh}'::text[]) with ordinality x(key, n) order by x.n;
select test.complete_next('a', '{"from": "a"}'), test.complete_next('b', '{"more": 2}') \g /dev/null
select bpm.run_until_idle() \g /dev/null
select test.complete_next('c') \g /dev/null
select bpm.run_until_idle() \g /dev/null
select test.complete_next('a'), test.complete_next('b') \g /dev/null
update bpm_core.inbox i set available_at = 'infinity';
select test.complete_next('a', '{"from": "a"}') \g /dev/null
select bpm.run_until_idle() \g /dev/null
update bpm_core.inbox i set available_at = bpm_core.now();
select is(test.workflows(pg_temp.p('done'))::text || test.workflows(pg_temp.p('told'))::text || test.workflows(pg_temp.p('half'))::text || test.workflows(pg_temp.p('fresh'))::text,
  '{"a Completed","b Completed","c Completed"}{"a Completed","b Completed"}{"a Completed","b Running"}{"a Running","b Running"}', 'as they stand');
select is(test.broken(), '{}', 'all is well');

select test.breaks($$delete from bpm_core.inbox where target_id = pg_temp.p('told')$$, '{I-11}', 'ends nobody hears of');
select test.breaks($$delete from bpm_core.inbox where payload ->> 'workflow' = pg_temp.w('told', 'a')::text$$, '{I-11}', 'one of them');
select test.breaks($$update bpm_core.process_instance set ended_bindings = '{a,b}' where id = pg_temp.p('fresh')$$, '{I-11}', 'believed to have ended');
select test.breaks($$update bpm_core.process_instance set ended_bindings = '{a,nonsense}' where id = pg_temp.p('half')$$, '{I-27}', 'a binding there is not');
select test.breaks($$update bpm_core.process_instance set ended_bindings = '{}' where id = pg_temp.p('half')$$, '{I-11}', 'an end forgotten');
select test.breaks($$update bpm_core.process_instance set ended_bindings = '{a,b}' where id = pg_temp.p('told')$$, '{I-11}', 'heard of, but nothing has begun');
select test.breaks($$update bpm_core.process_instance set ended_bindings = null where id = pg_temp.p('half')$$, '{I-11}', 'one of several without knowing it');
select test.breaks($$update bpm_core.process_instance set status = 'Completed', ended_at = now() where id = pg_temp.p('half')$$, '{I-11,I-13}', 'Completed while something runs');
select test.breaks($$update bpm_core.process_instance set status = 'Running', ended_at = null where id = pg_temp.p('done')$$, '{I-11,I-13}', 'Running with nothing left to do');
select test.breaks($$update bpm_core.process_instance set status = 'Suspended' where id = pg_temp.p('half')$$, '{I-11}', 'suspended alone');
select test.breaks($$update bpm_core.inbox set available_at = 'infinity' where target_id = pg_temp.p('told')$$, '{I-11}', 'set aside without being suspended');
select test.breaks($$update bpm_core.workflow_instance set ends_process = true where id = pg_temp.w('half', 'b')$$, '{I-11}', 'one that would end its process alone');
select test.breaks($$delete from bpm_core.history_event where kind = 'ProcessEnded'$$, '{I-13}', 'an end that history does not tell of');
select test.breaks($$delete from bpm_core.history_event where kind = 'VariablesPassed' and workflow_instance_id = pg_temp.w('done', 'a')$$, '{I-14}', 'results nobody passed on');
select test.breaks($$update bpm_core.process_instance set variables = '{"n": 1}' where id = pg_temp.p('half')$$, '{I-14}', 'variables that are not there');
select test.breaks($$update bpm_core.process_workflow_binding set workflow_version_id = (select b.workflow_version_id from bpm_core.process_workflow_binding b where b.binding_key = 'c') where binding_key = 'b'$$,
  '{I-21}', 'bound to another version');
select test.breaks($$update bpm_core.process_workflow_binding set depends_on = '{c}' where binding_key = 'a'$$, '{I-11,I-21}', 'begun before its time');
select test.breaks($$insert into bpm_core.inbox (id, target_kind, target_id, kind, payload, available_at) values (bpm_core.new_id(), 'ProcessInstance', pg_temp.w('half', 'a'), 'WorkflowEnded', '{}', now())$$,
  '{I-27}', 'mail for no process');
-- Skipped
select test.several('maybe', '[{"key": "a"}, {"key": "b", "condition": "${go}"}]');
select test.start('maybe', '{}', 'skip') \g /dev/null
select test.breaks($$delete from bpm_core.history_event where kind = 'InstanceSkipped'$$, '{I-13}', 'skipped without a word');
select test.breaks($$update bpm_core.workflow_instance set status = 'Running', ended_at = null where id = pg_temp.w('skip', 'b')$$, '{I-11,I-13}', 'skipped no more');
select * from finish();
rollback;
