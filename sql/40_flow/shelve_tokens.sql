-- Sets parked tokens of suspended instances aside, where no tick looks, until their instance is resumed. The instances are locked.
-- Returns:  integer, how many. Writes: token.
create or replace function bpm_core.shelve_tokens(p_tenant_id text, p_tokens uuid[])
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
  with held as materialized (
    select t.tenant_id, t.id
      from unnest(p_tokens) k(id)
     cross join lateral (select t.tenant_id, t.id, t.state, t.workflow_instance_id from bpm_core.token t
                          where t.tenant_id = p_tenant_id and t.id = k.id offset 0) t
     cross join lateral (select w.status from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     where t.state = 'Ready' and w.status = 'Suspended')
  update bpm_core.token t
     set ready_at = 'infinity'
    from held h
   where t.tenant_id = h.tenant_id and t.id = h.id;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
