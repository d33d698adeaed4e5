-- Claims tasks slot by slot, each with one free slot of its tenant and of its type, where these have a quota.
-- Returns:  claimed, as claim_ready_tasks; limited: the task types that may have more.
-- Writes:   task_instance, quota_slot. Locks: these, skip locked; slots first.
create or replace function bpm_core.claim_within_quotas(
  p_tenant_id text, p_worker text, p_slots bpm_core.claim_slot[], p_quotas bpm_core.task_quota[], p_limit integer, p_lease interval, p_request_id text,
  p_now timestamptz, out claimed bpm_core.claimed_task[], out limited text[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_room         integer;
  v_type_slots   integer[];
  v_tenant_slots integer[];
  v_found        bpm_core.claimed_task[];
  r_slot         record;
begin
  claimed := '{}';
  for r_slot in
    select p as slot, p.task_type, (select q.bound from unnest(p_quotas) q where q.task_type = p.task_type) as type_bound,
           (select q.bound from unnest(p_quotas) q where q.task_type = '') as tenant_bound
      from unnest(p_slots) p
  loop
    v_room := p_limit - cardinality(claimed);
    v_tenant_slots := null;
    v_type_slots := null;
    if r_slot.tenant_bound is not null and v_room > 0 then
      v_tenant_slots := bpm_core.lock_quota_slots(p_tenant_id, '', r_slot.tenant_bound, v_room);
      v_room := cardinality(v_tenant_slots);
    end if;
    if r_slot.type_bound is not null and v_room > 0 then
      v_type_slots := bpm_core.lock_quota_slots(p_tenant_id, r_slot.task_type, r_slot.type_bound, v_room);
      v_room := cardinality(v_type_slots);
    end if;
    v_found := '{}';
    if v_room > 0 then
      v_found := array(select c from bpm_core.claim_ready_tasks(p_tenant_id, p_worker, array[r_slot.slot]::bpm_core.claim_slot[], v_room, p_lease, p_request_id, p_now,
                                                                v_type_slots, v_tenant_slots) c);
      perform bpm_core.fill_quota_slots(p_tenant_id, array(select f.task_id from unnest(v_found) f));
    end if;
    claimed := claimed || v_found;
    if cardinality(v_found) = v_room then
      limited := limited || r_slot.task_type;
    end if;
  end loop;
end
$$;
