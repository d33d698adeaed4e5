-- Under the locks of it and all its workflows: patches the variables of a process of several by hand. History tells of it at the workflow that began first;
-- workflows that wait for conditions ask them again.
-- p_expected: as of bpm.set_variables.
-- Returns:  boolean, whether it did: false if it has only one workflow, or has ended. Raises: BP409 a variable is not as expected. Writes: process_instance, history_event, audit_event, inbox.
create or replace function bpm_core.patch_process(p_tenant_id text, p_process_instance_id uuid, p_variables jsonb, p_expected jsonb, p_actor text)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  if p_expected is not null then
    perform bpm_core.check_expected(
      (select p.variables from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id), p_expected);
  end if;
  update bpm_core.process_instance p
     set variables = p.variables || p_variables, version = p.version + 1, updated_at = v_now
   where p.tenant_id = p_tenant_id and p.id = p_process_instance_id and p.ended_bindings is not null and p.status in ('Running', 'Suspended');
  if not found then
    return false;
  end if;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, actor, detail)
  values (p_tenant_id, bpm_core.first_workflow(p_tenant_id, p_process_instance_id), v_now, 'VariablesSet', p_actor,
          jsonb_build_object('process_variables', p_variables));
  perform bpm_core.write_audit(p_tenant_id, p_actor, 'SetVariables', 'process_instance', p_process_instance_id::text, null, null,
    jsonb_build_object('names', (select jsonb_agg(k.name) from jsonb_object_keys(p_variables) k(name))));
  perform bpm_core.recheck_workflows(p_tenant_id, array[p_process_instance_id]);
  return true;
end
$$;
