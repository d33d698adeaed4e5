-- What belongs to the versions of a workflow alone: its graph and the pins of its tasks.
create or replace function bpm_core.delete_workflow_parts(p_tenant_id text, p_definition_id uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_versions uuid[] := array(select v.id from bpm_core.workflow_version v where v.tenant_id = p_tenant_id and v.definition_id = p_definition_id);
begin
  delete from bpm_core.inclusive_reach r where r.tenant_id = p_tenant_id and r.workflow_version_id = any (v_versions);
  delete from bpm_core.inclusive_flow f where f.tenant_id = p_tenant_id and f.workflow_version_id = any (v_versions);
  delete from bpm_core.workflow_task_binding b where b.tenant_id = p_tenant_id and b.workflow_version_id = any (v_versions);
  delete from bpm_core.workflow_flow f where f.tenant_id = p_tenant_id and f.workflow_version_id = any (v_versions);
  delete from bpm_core.workflow_node n where n.tenant_id = p_tenant_id and n.workflow_version_id = any (v_versions);
end
$$;
