-- bpm.set_setting: known names, right values, audited, for admins of the tenant without a name.
begin;
select plan(27);

select is(bpm.set_setting('engine.loop_budget', '5000'), '5000'::jsonb, 'sets, and gives back what is set');
select is(bpm_core.setting_value('engine.loop_budget', '1'), '5000'::jsonb, 'which is read instead of the default');
select is(bpm.set_setting('engine.loop_budget', '6000'), '6000'::jsonb, 'sets again');
select is(bpm.set_setting('engine.loop_budget', null), null, 'null puts it back');
select is(bpm_core.setting_value('engine.loop_budget', '1'), '1'::jsonb, 'to the default');
select is(bpm.set_setting('engine.loop_budget', 'null'), null, 'so does a JSON null, also when nothing was set');
select results_eq(
  $$select concat_ws(' ', actor, action, aggregate_type, aggregate_id) collate "C", detail from bpm_core.audit_event order by id limit 2$$,
  $$values (session_user || ' SetSetting setting engine.loop_budget' collate "C", '{"from": null, "to": 5000}'::jsonb),
           (session_user || ' SetSetting setting engine.loop_budget', '{"from": 5000, "to": 6000}')$$, 'each change is audited');
select is((select count(*) from bpm_core.audit_event), 4::bigint, 'with one row');
select bpm.set_setting('engine.loop_budget', '7', 'ann') \g /dev/null
select is((select s.updated_by from bpm_core.setting s), 'ann', 'under the actor named');

select lives_ok(format('select bpm.set_setting(%L, %L)', x.name, x.value), format('%s takes %s', x.name, x.value))
  from (values ('engine.approval_required_task_types', '["release-order"]'), ('engine.approval_required_task_types', '[]'),
               ('engine.timer_poll_interval_ms', '10'), ('engine.timer_batch_size', '1000'), ('engine.max_variables_bytes', '65536'),
               ('engine.max_value_bytes', '1e6'), ('catalog.max_bpmn_bytes', '5000000')) x(name, value);
select throws_ok(format('select bpm.set_setting(%L, %L)', x.name, x.value), 'BP400', null, format('%s does not take %s', x.name, x.value))
  from (values ('engine.approval_required_task_types', '["a", 1]'), ('engine.approval_required_task_types', '[""]'),
               ('engine.approval_required_task_types', '"a"'), ('engine.loop_budget', '0'), ('engine.loop_budget', '1.5'),
               ('engine.loop_budget', '"10"'), ('engine.max_variables_bytes', '1024'), ('engine.loop_budgets', '10'), ('engine.timer_batch_size', '1001'), (null, '10')) x(name, value);
select is((select count(*) from bpm_core.setting), 7::bigint, 'what was refused changed nothing');

select * from finish();
rollback;
