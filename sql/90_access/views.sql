-- Which role may call which public function. Grants as data: bpm_core.apply_grants makes the database equal to this list, a test proves it.
-- A role that is named may call; bpm_admin may call everything, so it is not repeated. Reading is for all four.

create or replace view bpm_core.function_grant (function_name, reader, worker, operator) as
values
  -- everybody
  ('api_version', true, true, true),
  ('check_bpmn', true, true, true),
  ('check_invariants', true, true, true),
  ('get_bpmn', true, true, true),
  ('get_definition', true, true, true),
  ('get_history', true, true, true),
  ('get_process', true, true, true),
  ('get_variables', true, true, true),
  ('metrics', true, true, true),
  ('next_due', true, true, true),
  ('ready', true, true, true),
  ('replay', true, true, true),
  ('tenants_with_work', true, true, true),
  -- machines: start, claim, complete, deliver, keep time
  ('apply_approval_effects', false, true, true),
  ('broadcast_signal', false, true, true),
  ('claim_commands', false, true, false),
  ('claim_commands_at', false, true, false),
  ('claim_tasks', false, true, false),
  ('claim_tasks_at', false, true, false),
  ('complete_task', false, true, false),
  ('complete_tasks', false, true, false),
  ('correlate_message', false, true, true),
  ('extend_leases', false, true, false),
  ('fail_task', false, true, false),
  ('fail_tasks', false, true, false),
  ('mark_commands', false, true, false),
  ('release_tasks', false, true, false),
  ('run_until_idle', false, true, true),
  ('start_process', false, true, true),
  ('start_processes', false, true, true),
  ('throw_error', false, true, false),
  ('tick', false, true, true),
  -- people: user tasks, decisions, repair
  ('cancel_process', false, false, true),
  ('claim_user_task', false, false, true),
  ('complete_user_task', false, false, true),
  ('decide_approval', false, false, true),
  ('discard_dead_letter', false, false, true),
  ('reconcile_command', false, false, true),
  ('requeue_dead_letter', false, false, true),
  ('resolve_incident', false, false, true),
  ('set_variables', false, false, true),
  ('unclaim_user_task', false, false, true),
  -- admins alone: catalog, settings, grants, upkeep
  ('create_tenant', false, false, false),
  ('deploy_bpmn', false, false, false),
  ('grant_access', false, false, false),
  ('maintain_partitions', false, false, false),
  ('publish_task', false, false, false),
  ('register_destination', false, false, false),
  ('set_setting', false, false, false);
comment on view bpm_core.function_grant is 'Which role may call which public function; bpm_admin may call all. Applied by bpm_core.apply_grants.';
