-- Where workflow instances of the past went: joins, scopes, tokens; at last they themselves and their process instances.
-- Returns:  jsonb, how many rows of each table. Locks: nothing that lock_to_remove does not hold already.
create or replace function bpm_core.remove_paths(p_tenant_id text, p_processes uuid[], p_workflows uuid[])
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
  delete from bpm_core.parallel_join_arrival x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_workflows) k(id) offset 0) k
     cross join lateral (select x.ctid from bpm_core.parallel_join_arrival x where x.tenant_id = k.tenant_id and x.workflow_instance_id = k.id offset 0) x));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('parallel_join_arrival', v_n);
  delete from bpm_core.parallel_join x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_workflows) k(id) offset 0) k
     cross join lateral (select x.ctid from bpm_core.parallel_join x where x.tenant_id = k.tenant_id and x.workflow_instance_id = k.id offset 0) x));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('parallel_join', v_n);
  delete from bpm_core.inclusive_join x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_workflows) k(id) offset 0) k
     cross join lateral (select x.ctid from bpm_core.inclusive_join x where x.tenant_id = k.tenant_id and x.workflow_instance_id = k.id offset 0) x));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('inclusive_join', v_n);
  delete from bpm_core.scope x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_workflows) k(id)
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.scope x where x.workflow_instance_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('scope', v_n);
  delete from bpm_core.instance_migration x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_workflows) k(id) offset 0) k
     cross join lateral (select x.ctid from bpm_core.instance_migration x where x.tenant_id = k.tenant_id and x.workflow_instance_id = k.id offset 0) x));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('instance_migration', v_n);
  delete from bpm_core.token x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_workflows) k(id)
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.token x where x.workflow_instance_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('token', v_n);
  delete from bpm_core.workflow_instance x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_workflows) k(id) offset 0) k
     cross join lateral (select x.ctid from bpm_core.workflow_instance x where x.tenant_id = k.tenant_id and x.id = k.id offset 0) x));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('workflow_instance', v_n);
  delete from bpm_core.process_instance x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_processes) k(id) offset 0) k
     cross join lateral (select x.ctid from bpm_core.process_instance x where x.tenant_id = k.tenant_id and x.id = k.id offset 0) x));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('process_instance', v_n);
  return v_rows;
end
$$;
