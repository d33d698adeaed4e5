-- Ends processes of several workflows as Completed where the last of these has ended.
-- Writes:   process_instance, history_event (at the workflow that was the last). The processes are locked, or nobody knows them yet.
create or replace function bpm_core.complete_processes(p_tenant_id text, p_processes uuid[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.end_processes(p_tenant_id, array_agg(p.id), array_agg(w.id), 'Completed', p_now)
     from unnest(p_processes) k(id)
    cross join lateral (
      select p.id, p.status, p.ended_bindings[cardinality(p.ended_bindings)] as last_key, cardinality(p.ended_bindings) as ended, p.process_version_id
        from bpm_core.process_instance p
       where p.tenant_id = p_tenant_id and p.id = k.id
      offset 0) p
    cross join lateral (select count(*) as bindings from bpm_core.process_workflow_binding b
                         where b.tenant_id = p_tenant_id and b.process_version_id = p.process_version_id offset 0) b
    cross join lateral (
      select w.id, w.tenant_id from bpm_core.workflow_instance w
       where w.process_instance_id = p.id and w.binding_key = p.last_key and w.trigger_key = '' offset 0) w
   where p.status = 'Running' and p.ended = b.bindings and w.tenant_id = p_tenant_id
  having count(*) > 0;
end
$$;
