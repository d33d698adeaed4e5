-- What belongs to the versions of a process alone: its bindings, and how its start events wait.
create or replace function bpm_core.delete_process_parts(p_tenant_id text, p_definition_id uuid)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_versions uuid[] := array(select v.id from bpm_core.process_version v where v.tenant_id = p_tenant_id and v.definition_id = p_definition_id);
begin
  delete from bpm_core.timer t where t.tenant_id = p_tenant_id and t.process_version_id = any (v_versions);
  delete from bpm_core.subscription s where s.tenant_id = p_tenant_id and s.process_version_id = any (v_versions);
  delete from bpm_core.process_workflow_binding b where b.tenant_id = p_tenant_id and b.process_version_id = any (v_versions);
end
$$;
