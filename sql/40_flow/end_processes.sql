-- Ends processes of several workflows. What ends them is decided by the caller.
-- p_workflows: of each process the workflow instance whose history tells of it. Writes: process_instance, history_event. The processes are locked.
create or replace function bpm_core.end_processes(
  p_tenant_id text, p_processes uuid[], p_workflows uuid[], p_status bpm_core.process_status, p_at timestamptz, p_actor text default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, from_state, to_state, actor, detail)
  select p_tenant_id, e.workflow_id, p_at, 'ProcessEnded', p.status::text, p_status::text, p_actor, jsonb_build_object('process', e.id)
    from unnest(p_processes, p_workflows) e(id, workflow_id)
   cross join lateral (select p.status from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = e.id offset 0) p;
  update bpm_core.process_instance p
     set status = p_status, version = p.version + 1, updated_at = p_at, ended_at = p_at
    from (select p_tenant_id as tenant_id, e.id from unnest(p_processes) e(id) offset 0) e
   where p.tenant_id = e.tenant_id and p.id = e.id;
end
$$;
