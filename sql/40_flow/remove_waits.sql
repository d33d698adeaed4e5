-- What workflow instances of the past waited for and left behind: messages, timers, waits, incidents, the ledger of compensation.
-- Rows are found by key and deleted where they lie: nobody else can move them (lock_to_remove).
-- Returns:  jsonb, how many rows of each table. Locks: nothing that lock_to_remove does not hold already.
create or replace function bpm_core.remove_waits(p_tenant_id text, p_workflows uuid[])
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
  delete from bpm_core.message x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(bpm_core.messages_of(p_tenant_id, p_workflows)) k(id) offset 0) k
     cross join lateral (select x.ctid from bpm_core.message x where x.tenant_id = k.tenant_id and x.id = k.id offset 0) x));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('message', v_n);
  delete from bpm_core.timer x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_workflows) k(id)
     cross join lateral (select t.id from bpm_core.token t where t.workflow_instance_id = k.id offset 0) t
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.timer x where x.token_id = t.id offset 0) x
     where x.tenant_id = p_tenant_id));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('timer', v_n);
  delete from bpm_core.subscription x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_workflows) k(id)
     cross join lateral (select t.id from bpm_core.token t where t.workflow_instance_id = k.id offset 0) t
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.subscription x where x.token_id = t.id offset 0) x
     where x.tenant_id = p_tenant_id));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('subscription', v_n);
  delete from bpm_core.incident x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_workflows) k(id)
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.incident x where x.workflow_instance_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('incident', v_n);
  delete from bpm_core.compensation_record x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_workflows) k(id)
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.compensation_record x where x.workflow_instance_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('compensation_record', v_n);
  return v_rows;
end
$$;
