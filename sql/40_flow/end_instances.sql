-- What follows from workflow instances having ended: their history row and, where it is the only binding, the end of the process.
-- The instances carry their final status already. Writes: history_event, process_instance.
create or replace function bpm_core.end_instances(p_tenant_id text, p_instances uuid[], p_status bpm_core.workflow_status, p_at timestamptz,
                                                  p_detail jsonb default null)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_processes uuid[];
begin
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, from_state, to_state, detail)
  select p_tenant_id, e.id, p_at, ('Instance' || p_status)::bpm_core.history_kind, 'Running', p_status::text, p_detail
    from unnest(p_instances) e(id);
  -- Shared parents come after tasks and tokens in the lock order, each class once and sorted.
  v_processes := array(
    select w.process_instance_id
      from (select p_tenant_id as tenant_id, e.* from unnest(p_instances) e(id) offset 0) e
      join bpm_core.workflow_instance w on w.tenant_id = e.tenant_id and w.id = e.id
     where w.ends_process);
  perform 1
     from (select distinct p_tenant_id as tenant_id, k.id from unnest(v_processes) k(id) order by k.id offset 0) k
    cross join lateral (select from bpm_core.process_instance p where p.tenant_id = k.tenant_id and p.id = k.id for no key update) p;
  update bpm_core.process_instance p
     set status = p_status::text::bpm_core.process_status, version = p.version + 1, updated_at = p_at, ended_at = p_at
    from (select p_tenant_id as tenant_id, e.* from unnest(v_processes) e(id) offset 0) e
   where p.tenant_id = e.tenant_id and p.id = e.id;
end
$$;
