-- The approvals with their votes and the reviews of workflow instances of the past. A review that facts rest on stays.
-- Returns:  jsonb, how many rows of each table. Locks: nothing that lock_to_remove does not hold already.
create or replace function bpm_core.remove_decisions(p_tenant_id text, p_workflows uuid[])
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
  delete from bpm_core.approval_vote x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_workflows) k(id)
     cross join lateral (select a.id from bpm_core.approval_record a where a.workflow_instance_id = k.id and a.tenant_id is not distinct from p_tenant_id offset 0) a
     cross join lateral (select p_tenant_id as tenant_id, a.id offset 0) y
     cross join lateral (select x.ctid from bpm_core.approval_vote x where x.tenant_id = y.tenant_id and x.approval_id = y.id offset 0) x));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('approval_vote', v_n);
  delete from bpm_core.approval_record x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_workflows) k(id)
     cross join lateral (select x.ctid, x.tenant_id from bpm_core.approval_record x where x.workflow_instance_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('approval_record', v_n);
  delete from bpm_core.review x
   where x.ctid = any (array(
    select x.ctid
      from unnest(p_workflows) k(id)
     cross join lateral (select x.ctid, x.id, x.tenant_id from bpm_core.review x where x.workflow_instance_id = k.id offset 0) x
     where x.tenant_id = p_tenant_id
       and not exists (select from bpm_core.fact f where f.review_id = x.id and f.tenant_id is not distinct from x.tenant_id offset 0)));
  get diagnostics v_n = row_count;
  v_rows := v_rows || jsonb_build_object('review', v_n);
  return v_rows;
end
$$;
