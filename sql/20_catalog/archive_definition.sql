-- Archives a process, workflow, task or role: a process is started no more, by nothing; a workflow is bound by no new process, a task pinned by no new
-- workflow, a role owns no new one. What is pinned to their versions goes on. Publishing again brings it back.
-- p_kind: process, workflow, task or role.
-- Returns:  one row: kind, code, outcome Done (also when it was archived before).
-- Raises:   BP400 unknown kind. BP403. BP404 nothing of that code. BP422 reason too long.
-- Writes:   the definition, of a process what publish_starts writes, audit_event.
-- Locks:    the definition row.
create or replace function bpm.archive_definition(
  p_kind text, p_code text, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (kind text, code text, outcome bpm.outcome)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor      text;
  v_now        timestamptz := bpm_core.now();
  v_archived   uuid;
  v_published  uuid;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  perform bpm_core.definition_of(p_tenant_id, p_kind, p_code);
  case p_kind
    when 'process' then
      update bpm_core.process_definition d set archived_at = v_now where d.tenant_id = p_tenant_id and d.code = p_code and d.archived_at is null
      returning d.id, d.published_version_id into v_archived, v_published;
      if found then
        perform bpm_core.publish_starts(p_tenant_id, v_archived, v_published, null);
      end if;
    when 'workflow' then
      update bpm_core.workflow_definition d set archived_at = v_now where d.tenant_id = p_tenant_id and d.code = p_code and d.archived_at is null returning d.id into v_archived;
    when 'task' then
      update bpm_core.task_definition d set archived_at = v_now where d.tenant_id = p_tenant_id and d.code = p_code and d.archived_at is null returning d.id into v_archived;
    else
      update bpm_core.role_definition d set archived_at = v_now where d.tenant_id = p_tenant_id and d.code = p_code and d.archived_at is null returning d.id into v_archived;
  end case;
  if v_archived is not null then
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'ArchiveDefinition', p_kind, p_code, null, p_reason);
  end if;
  return query select p_kind, p_code, 'Done'::bpm.outcome;
end
$$;
