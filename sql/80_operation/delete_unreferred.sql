-- Deletes a definition that nothing refers to, with everything that is a part of it.
-- Returns:  integer, how many versions it had.
-- Raises:   BP409 something has come to refer to it since it was looked at.
create or replace function bpm_core.delete_unreferred(p_tenant_id text, p_kind text, p_code text)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id    uuid := (bpm_core.definition_of(p_tenant_id, p_kind, p_code)).id;
  v_count integer;
begin
  case p_kind
    when 'process' then
      perform bpm_core.delete_process_parts(p_tenant_id, v_id);
      update bpm_core.process_definition d set published_version_id = null where d.tenant_id = p_tenant_id and d.id = v_id;
      delete from bpm_core.process_version v where v.tenant_id = p_tenant_id and v.definition_id = v_id;
      get diagnostics v_count = row_count;
      delete from bpm_core.process_definition d where d.tenant_id = p_tenant_id and d.id = v_id;
    when 'workflow' then
      perform bpm_core.delete_workflow_parts(p_tenant_id, v_id);
      update bpm_core.workflow_definition d set published_version_id = null where d.tenant_id = p_tenant_id and d.id = v_id;
      delete from bpm_core.workflow_version v where v.tenant_id = p_tenant_id and v.definition_id = v_id;
      get diagnostics v_count = row_count;
      delete from bpm_core.workflow_definition d where d.tenant_id = p_tenant_id and d.id = v_id;
    when 'task' then
      update bpm_core.task_definition d set published_version_id = null where d.tenant_id = p_tenant_id and d.id = v_id;
      delete from bpm_core.task_version v where v.tenant_id = p_tenant_id and v.definition_id = v_id;
      get diagnostics v_count = row_count;
      delete from bpm_core.task_definition d where d.tenant_id = p_tenant_id and d.id = v_id;
    else
      update bpm_core.role_definition d set published_version_id = null where d.tenant_id = p_tenant_id and d.id = v_id;
      delete from bpm_core.role_version v where v.tenant_id = p_tenant_id and v.definition_id = v_id;
      get diagnostics v_count = row_count;
      delete from bpm_core.role_definition d where d.tenant_id = p_tenant_id and d.id = v_id;
  end case;
  return v_count;
exception
  when foreign_key_violation then
    perform bpm_core.fail('BP409', format('The %s %L is referred to.', p_kind, p_code), null, 'Call again: the answer will say by whom.');
end
$$;
