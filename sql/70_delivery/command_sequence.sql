-- The sequence of an instance's commands to an ordered destination: its business key, or without one its process instance.
-- Returns:  text.
create or replace function bpm_core.command_sequence(p_tenant_id text, p_workflow_instance_id uuid)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return (
    select coalesce('key:' || p.business_key, 'process:' || w.process_instance_id)
      from bpm_core.workflow_instance w
     cross join lateral (select p.business_key from bpm_core.process_instance p where p.tenant_id = w.tenant_id and p.id = w.process_instance_id offset 0) p
     where w.tenant_id = p_tenant_id and w.id = p_workflow_instance_id);
end
$$;
