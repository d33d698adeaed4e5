-- Counts a command on instances it moves without patching their variables.
-- Writes:   workflow_instance.
create or replace function bpm_core.bump_instances(p_tenant_id text, p_instances uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  update bpm_core.workflow_instance w
     set lock_version = w.lock_version + 1
    from (select distinct p_tenant_id as tenant_id, i.id from unnest(p_instances) i(id)) d
   where w.tenant_id = d.tenant_id and w.id = d.id;
end
$$;
