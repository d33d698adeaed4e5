-- The workflow instance of a process that is meant where only one can be: its only one; of several the one that began first, in whose history stands what
-- concerns the process as a whole.
-- Returns:  uuid.
create or replace function bpm_core.first_workflow(p_tenant_id text, p_process_instance_id uuid)
returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return (
    select w.id
      from (select w.tenant_id, w.id, w.binding_key, w.created_at, w.parent_token_id from bpm_core.workflow_instance w
             where w.process_instance_id = p_process_instance_id offset 0) w
     cross join lateral (select p.process_version_id from bpm_core.process_instance p where p.tenant_id = w.tenant_id and p.id = p_process_instance_id offset 0) p
      left join lateral (select b.position from bpm_core.process_workflow_binding b
                          where b.tenant_id = w.tenant_id and b.process_version_id = p.process_version_id and b.binding_key = w.binding_key offset 0) b on true
     where w.tenant_id = p_tenant_id and w.parent_token_id is null
     order by w.created_at, b.position
     limit 1);
end
$$;
