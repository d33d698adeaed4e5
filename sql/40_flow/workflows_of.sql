-- The workflow instances of a process instance.
-- Returns:  uuid[], its only one first; of several those that began first.
-- Raises:   BP404 no such process instance for this tenant.
create or replace function bpm_core.workflows_of(p_tenant_id text, p_process_instance_id uuid)
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_workflows uuid[];
begin
  v_workflows := array(
    select w.id
      from (select w.tenant_id, w.id, w.parent_token_id, w.created_at from bpm_core.workflow_instance w
             where w.process_instance_id = p_process_instance_id offset 0) w
     where w.tenant_id = p_tenant_id
     order by w.parent_token_id is not null, w.created_at, w.id);
  if cardinality(v_workflows) = 0 then
    perform bpm_core.fail('BP404', format('There is no process instance %s.', coalesce(p_process_instance_id::text, 'null')),
      jsonb_build_object('process_instance_id', p_process_instance_id), 'The view bpm.instance lists those you may see.');
  end if;
  return v_workflows;
end
$$;
