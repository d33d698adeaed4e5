-- The tasks of workflow instances of the past, their attempts, results, comments, links and letters. A result that facts rest on stays, with its attempt and
-- the evidence it came with: it is where we know from.
-- Returns:  jsonb, how many rows of each table. Locks: nothing that lock_to_remove does not hold already.
create or replace function bpm_core.remove_tasks(p_tenant_id text, p_workflows uuid[], p_tasks uuid[])
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
  delete from bpm_core.dead_letter x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_workflows) k(id)
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.dead_letter x where x.workflow_instance_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('dead_letter', v_n);
  delete from bpm_core.task_comment x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_tasks) k(id)
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.task_comment x where x.task_instance_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('task_comment', v_n);
  delete from bpm_core.task_evidence x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_tasks) k(id) offset 0) k
     cross join lateral (select x.ctid from bpm_core.task_evidence x where x.tenant_id = k.tenant_id and x.task_instance_id = k.id offset 0) x));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('task_evidence', v_n);
  delete from bpm_core.task_event x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_tasks) k(id)
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.task_event x where x.task_instance_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('task_event', v_n);
  delete from bpm_core.rejected_result x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_tasks) k(id) offset 0) k
     cross join lateral (select x.ctid from bpm_core.rejected_result x where x.tenant_id = k.tenant_id and x.task_instance_id = k.id offset 0) x));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('rejected_result', v_n);
  delete from bpm_core.execution x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_tasks) k(id) offset 0) k
     cross join lateral (select x.ctid, x.tenant_id, x.task_instance_id, x.attempt from bpm_core.execution x where x.tenant_id = k.tenant_id and x.task_instance_id = k.id offset 0) x
     where not exists (select from bpm_core.fact f where f.task_instance_id = x.task_instance_id and f.attempt = x.attempt and f.tenant_id is not distinct from x.tenant_id offset 0)));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('execution', v_n);
  delete from bpm_core.result_evidence x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_tasks) k(id) offset 0) k
     cross join lateral (select x.ctid, x.tenant_id, x.task_instance_id, x.attempt from bpm_core.result_evidence x where x.tenant_id = k.tenant_id and x.task_instance_id = k.id offset 0) x
     where not exists (select from bpm_core.fact f where f.task_instance_id = x.task_instance_id and f.attempt = x.attempt and f.tenant_id is not distinct from x.tenant_id offset 0)));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('result_evidence', v_n);
  delete from bpm_core.result x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_tasks) k(id) offset 0) k
     cross join lateral (select x.ctid, x.tenant_id, x.task_instance_id, x.attempt from bpm_core.result x where x.tenant_id = k.tenant_id and x.task_instance_id = k.id offset 0) x
     where not exists (select from bpm_core.fact f where f.task_instance_id = x.task_instance_id and f.attempt = x.attempt and f.tenant_id is not distinct from x.tenant_id offset 0)));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('result', v_n);
  delete from bpm_core.task_instance x
   where x.ctid = any (array(
    select x.ctid
      from (select p_tenant_id as tenant_id, k.id from unnest(p_tasks) k(id) offset 0) k
     cross join lateral (select x.ctid from bpm_core.task_instance x where x.tenant_id = k.tenant_id and x.id = k.id offset 0) x));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('task_instance', v_n);
  return v_rows;
end
$$;
