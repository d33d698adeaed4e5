-- Hands out ready tasks to one worker, high priority first, then oldest first, each with a lease and a fencing token. What has waited for long overtakes
-- what came later with a higher priority (setting engine.priority_ageing_s).
-- Commit before working on them. Runners that claim again and again use claim_tasks_at, which stays fast under old snapshots.
-- p_request_id: the same worker with the same one gets what it still holds of the same claim again, when its reply was lost; good until the first of its
-- leases runs out.
-- Returns:  one row per claimed task, with the variables it sees and the headers the drawing gives it; none when nothing is due.
-- Raises:   BP403, BP409 the request id was used for another claim, BP422 worker, types, limit (1..1000) or lease (1 s..1 day) out of range.
-- Writes:   task_instance; quota_slot, where there are quotas; execution, where an instance is being suspended; idempotency_key with a request id.
-- Locks:    task_instance, quota_slot, skip locked. Never an instance row.
-- Source:   runtime design, transaction cookbook, "Complete step" and "Deliver".
create or replace function bpm.claim_tasks(
  p_worker text, p_types text[], p_limit integer default 1, p_lease interval default null, p_request_id text default null, p_tenant_id text default '')
returns table (task_id uuid, process_instance_id uuid, workflow_instance_id uuid, business_key text, node_id text, task_type text, attempt integer,
               fencing_token bigint, lease_until timestamptz, variables jsonb, headers jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now     timestamptz;
  v_slots   bpm_core.claim_slot[];
  v_claimed bpm_core.claimed_task[];
begin
  if not (bpm_core.enter_call(p_tenant_id, 'worker') and bpm_core.check_claim(p_worker, p_types, p_limit, p_lease, p_request_id)) then
    return;
  end if;
  if p_request_id is not null then
    v_claimed := bpm_core.replayed_claim(p_tenant_id, p_worker, p_types, p_limit, p_lease, p_request_id);
  end if;
  if v_claimed is null then
    v_now := bpm_core.now();
    v_slots := array(
      select row(y.task_type, l.priority_level, '-infinity', '00000000-0000-0000-0000-000000000000', null, null,
                 (select array_agg(q) from bpm_core.task_quota q where q.tenant_id = p_tenant_id))::bpm_core.claim_slot
        from (select p_tenant_id as tenant_id, y.* from unnest(p_types) with ordinality y(task_type, n) offset 0) y
       cross join lateral (select l.priority_level from bpm_core.task_level l
                            where l.tenant_id = y.tenant_id and l.task_type = y.task_type offset 0) l
       order by l.priority_level, y.n);
    if v_slots[1].quotas is null and v_slots[1].priority_level = v_slots[cardinality(v_slots)].priority_level then
      v_claimed := array(select c from bpm_core.claim_ready_tasks(p_tenant_id, p_worker, v_slots, p_limit, p_lease, p_request_id, v_now) c);
    elsif v_slots <> '{}' then
      v_claimed := (select c.claimed from bpm_core.claim_fairly(p_tenant_id, p_worker, v_slots, p_limit, p_lease, p_request_id, v_now) c);
    else
      v_claimed := '{}';
    end if;
    if exists (select from unnest(v_claimed) c where c.suspended) then
      v_claimed := bpm_core.put_back_claimed(p_tenant_id, v_claimed);
    end if;
    if p_request_id is not null then
      perform bpm_core.remember_claim(p_tenant_id, p_worker, p_types, p_limit, p_lease, p_request_id, v_claimed);
    end if;
  end if;
  return query
  select c.task_id, c.process_instance_id, c.workflow_instance_id, c.business_key, c.node_id, c.task_type, c.attempt, c.fencing_token,
         c.lease_until, c.variables, c.headers
    from unnest(v_claimed) c;
end
$$;
