-- A definition by kind and code.
-- Returns:  one row: id, archived_at.
-- Raises:   BP400 unknown kind. BP404 nothing of that code.
create or replace function bpm_core.definition_of(p_tenant_id text, p_kind text, p_code text, out id uuid, out archived_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  case p_kind
    when 'process' then select d.id, d.archived_at into id, archived_at from bpm_core.process_definition d where d.tenant_id = p_tenant_id and d.code = p_code;
    when 'workflow' then select d.id, d.archived_at into id, archived_at from bpm_core.workflow_definition d where d.tenant_id = p_tenant_id and d.code = p_code;
    when 'task' then select d.id, d.archived_at into id, archived_at from bpm_core.task_definition d where d.tenant_id = p_tenant_id and d.code = p_code;
    when 'role' then select d.id, d.archived_at into id, archived_at from bpm_core.role_definition d where d.tenant_id = p_tenant_id and d.code = p_code;
    else
      perform bpm_core.fail('BP400', format('There is no kind of definition %L.', left(p_kind, 100)), null, 'Kinds are process, workflow, task and role.');
  end case;
  if id is null then
    perform bpm_core.fail('BP404', format('There is no %s %L.', p_kind, left(p_code, 200)), jsonb_build_object('kind', p_kind, 'code', left(p_code, 200)),
      'See the views bpm.definition, bpm.workflow_version, bpm.task_version and bpm.role_version.');
  end if;
end
$$;
