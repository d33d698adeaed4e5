-- The commands of workflow instances of the past, with their attempts.
-- Returns:  jsonb, how many rows of each table. Locks: nothing that lock_to_remove does not hold already.
create or replace function bpm_core.remove_commands(p_tenant_id text, p_workflows uuid[])
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
  delete from bpm_core.delivery_attempt x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_workflows) k(id)
     cross join lateral (select o.id from bpm_core.outbox o where o.workflow_instance_id = k.id and o.tenant_id is not distinct from p_tenant_id offset 0) o
     cross join lateral (select p_tenant_id as tenant_id, o.id offset 0) y
     cross join lateral (select x.ctid from bpm_core.delivery_attempt x where x.tenant_id = y.tenant_id and x.outbox_id = y.id offset 0) x));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('delivery_attempt', v_n);
  delete from bpm_core.outbox x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_workflows) k(id)
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.outbox x where x.workflow_instance_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('outbox', v_n);
  return v_rows;
end
$$;
