-- Publishes one process of a BPMN file as a version of a workflow, which publish_process binds. Nothing can be started by that alone.
-- p_code: null: the id of the process. p_process_id: which one of the file; null when it holds one. p_owner_role: the code of a published role, whose
-- version now is pinned; null: the one the file names (bpm:owner of the process), else the role default. p_tasks: nodes to pin to another task, or to another version of it, than the published one of their type:
-- {"node": "task code"} or {"node": {"task": "code", "version": 2}}; a user task only so to any but the default.
-- Returns:  version; is_new is false when an older version is identical, which becomes the current one; warnings of the file as deploy_bpmn's.
-- Raises:   BP422 the file has faults (detail {"faults", "warnings"}), it holds no such process or several, the role is unknown or archived, or a task does not fit;
--           nothing is stored. BP400 null, a code or name too long, p_tasks of another form. BP403. BP503 it was deleted meanwhile.
-- Writes:   workflow_definition, what store_workflow_version writes, task and role versions that are missing, audit_event.
-- Locks:    the workflow_definition row, then task_definition rows that are new.
create or replace function bpm.publish_workflow(
  p_code text default null, p_xml text default null, p_process_id text default null, p_owner_role text default null, p_tasks jsonb default '{}', p_name text default null,
  p_strict boolean default false, p_actor text default null, p_tenant_id text default '')
returns table (code text, version integer, is_new boolean, warnings jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor   text;
  r_file    record;
  v_process bpm_core.draft_process;
  v_nodes   bpm_core.draft_node[];
  v_pins    bpm_core.task_pin[];
  v_role    uuid;
  v_moved   boolean;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if p_xml is null or length(btrim(p_name)) not between 1 and 200 or (p_code is not null and not bpm_core.is_code(p_code)) then
    perform bpm_core.fail('BP400', 'publish_workflow needs the text of a BPMN file, and a code and a name of at most 200 characters if any.');
  end if;
  select c.* into r_file from bpm_core.compile_process(p_xml, p_process_id, p_strict, p_tenant_id) c;
  v_process := r_file.process;
  v_process.name := coalesce(p_name, v_process.name);
  v_nodes := r_file.nodes;
  warnings := r_file.warnings;
  code := coalesce(btrim(p_code), v_process.process_id);
  perform bpm_core.lock_workflows(p_tenant_id, array[code]);
  p_owner_role := coalesce(p_owner_role, v_process.owner_role, 'default');
  v_role := bpm_core.ensure_role(p_tenant_id, p_owner_role, v_actor);
  v_pins := bpm_core.task_pins(p_tenant_id, p_tasks, v_process.pos, v_nodes);
  perform bpm_core.ensure_tasks(p_tenant_id, array(
    select distinct n.task_type from unnest(v_nodes) n
     where n.process_pos = v_process.pos and n.task_type is not null and n.node_id not in (select p.node_id from unnest(v_pins) p)), v_actor);
  select s.version, s.is_new, s.moved into version, is_new, v_moved
    from bpm_core.store_workflow_version(p_tenant_id, code, v_process, v_nodes, r_file.flows, p_xml, v_role, v_pins, v_actor) s;
  if v_moved then
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'PublishWorkflow', 'workflow', code, version, null,
      jsonb_build_object('is_new', is_new, 'owner_role', p_owner_role, 'warnings', jsonb_array_length(warnings)));
  end if;
  return next;
end
$$;
