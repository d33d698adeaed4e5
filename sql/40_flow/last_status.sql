-- The status of a process instance; of one that was removed, the one it ended with.
-- Returns:  process_status; null: there never was one, or nothing is left of it.
create or replace function bpm_core.last_status(p_tenant_id text, p_process_instance_id uuid)
returns bpm_core.process_status
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return coalesce(
    (select p.status from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id),
    (select r.status from bpm_core.removed_instance r where r.tenant_id = p_tenant_id and r.id = p_process_instance_id));
end
$$;
