-- The variables of a process instance as its steps see them: those of the process, over them those of its workflows.
-- Returns:  jsonb object.
-- Raises:   BP403, BP404.
create or replace function bpm.get_variables(p_process_instance_id uuid, p_tenant_id text default '')
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_workflows uuid[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  v_workflows := bpm_core.workflows_of(p_tenant_id, p_process_instance_id);
  return (
    select p.variables || w.variables
      from bpm_core.process_instance p
      join bpm_core.workflow_instance w on w.tenant_id = p.tenant_id and w.id = v_workflows[1]
     where p.tenant_id = p_tenant_id and p.id = p_process_instance_id);
end
$$;
