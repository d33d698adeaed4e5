-- Lets tick go on with tokens it set aside while their instance was suspended.
-- Returns:  integer, how many. Writes: token. The instance is locked.
create or replace function bpm_core.free_tokens(p_tenant_id text, p_instance_id uuid, p_limit integer)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_count integer;
begin
  with shelved as materialized (
    select t.tenant_id, t.id
      from (select t.tenant_id, t.id, t.state, t.ready_at from bpm_core.token t where t.workflow_instance_id = p_instance_id offset 0) t
     where t.tenant_id = p_tenant_id and t.state = 'Ready' and t.ready_at = 'infinity'
     limit p_limit)
  update bpm_core.token t
     set ready_at = bpm_core.now()
    from shelved s
   where t.tenant_id = s.tenant_id and t.id = s.id;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
