-- The workflow definition of a code, made if absent.
-- Returns:  uuid of the definition. Writes: workflow_definition.
create or replace function bpm_core.ensure_workflow(p_tenant_id text, p_code text)
returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id uuid;
begin
  insert into bpm_core.workflow_definition (tenant_id, id, code, created_at)
  values (p_tenant_id, bpm_core.new_id(), p_code, bpm_core.now())
  on conflict (tenant_id, code) do nothing;
  select d.id into v_id from bpm_core.workflow_definition d where d.tenant_id = p_tenant_id and d.code = p_code;
  return v_id;
end
$$;
