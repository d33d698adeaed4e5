-- The links of events with process instances of the past; the events stay, till their own time is over.
-- Returns:  jsonb, how many rows of each table. Locks: nothing that lock_to_remove does not hold already.
create or replace function bpm_core.unlink_instances(p_tenant_id text, p_processes uuid[])
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_rows jsonb := '{}'::jsonb;
  v_n    integer;
begin
  delete from bpm_core.event_process_instance x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_processes) k(id)
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.event_process_instance x where x.process_instance_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('event_process_instance', v_n);
  return v_rows;
end
$$;
