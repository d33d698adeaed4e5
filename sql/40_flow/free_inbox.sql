-- Makes inbox rows that were set aside while their instance was suspended due again, the oldest first.
-- p_limit: at most so many; null: all. Returns: integer, how many. Writes: inbox. The instance is locked.
create or replace function bpm_core.free_inbox(p_tenant_id text, p_instance_id uuid, p_limit integer)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_parked uuid[];
begin
  v_parked := array(
    select i.id
      from (select i.tenant_id, i.id, i.available_at from bpm_core.inbox i where i.target_id = p_instance_id offset 0) i
     where i.available_at = 'infinity' and i.tenant_id = p_tenant_id
     order by i.id
     limit p_limit);
  perform bpm_core.date_inbox(p_tenant_id, v_parked, bpm_core.now());
  return cardinality(v_parked);
end
$$;
