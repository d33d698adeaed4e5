-- Under the locks of the processes: a workflow of several has failed, or was cancelled by itself. Its process ends so, too; what else runs in it is cancelled
-- through the inbox, each under its own lock, and nothing begins any more.
-- Writes:   process_instance, history_event, inbox.
create or replace function bpm_core.stop_processes(p_tenant_id text, p_rows bpm_core.inbox[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_end record;
begin
  for r_end in
    select distinct on (r.target_id) r.target_id as id, (r.payload ->> 'workflow')::uuid as workflow_id, (r.payload ->> 'status')::bpm_core.process_status as status
      from unnest(p_rows) r
     cross join lateral (select p.status from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = r.target_id offset 0) p
     where p.status = 'Running'
     order by r.target_id, r.id
  loop
    perform bpm_core.end_processes(p_tenant_id, array[r_end.id], array[r_end.workflow_id], r_end.status, p_now);
    perform bpm_core.cancel_workflows(p_tenant_id, r_end.id, r_end.workflow_id);
  end loop;
end
$$;
