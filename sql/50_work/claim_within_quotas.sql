-- Claims tasks part by part, each with one free slot of its tenant and of its type, where these have a quota.
-- Returns:  claimed, as lease_parts; limited: the task types that may have more.
-- Writes:   task_instance, quota_slot. Locks: these, skip locked; slots first.
create or replace function bpm_core.claim_within_quotas(
  p_tenant_id text, p_worker text, p_parts bpm_core.claim_part[], p_quotas bpm_core.task_quota[], p_limit integer, p_lease interval, p_request_id text,
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
  r_part         record;
begin
  claimed := '{}';
  for r_part in
    select p as part, p.task_type, (select q.bound from unnest(p_quotas) q where q.task_type = p.task_type) as type_bound,
           (select q.bound from unnest(p_quotas) q where q.task_type = '') as tenant_bound
      from unnest(p_parts) p
  loop
    v_room := p_limit - cardinality(claimed);
    v_tenant_slots := null;
    v_type_slots := null;
    if r_part.tenant_bound is not null and v_room > 0 then
      v_tenant_slots := bpm_core.lock_quota_slots(p_tenant_id, '', r_part.tenant_bound, v_room);
      v_room := cardinality(v_tenant_slots);
    end if;
    if r_part.type_bound is not null and v_room > 0 then
      v_type_slots := bpm_core.lock_quota_slots(p_tenant_id, r_part.task_type, r_part.type_bound, v_room);
      v_room := cardinality(v_type_slots);
    end if;
    v_found := '{}';
    if v_room > 0 then
      v_found := bpm_core.lease_parts(p_tenant_id, p_worker, array[r_part.part], v_room, p_lease, p_request_id, p_now, v_type_slots, v_tenant_slots);
      perform bpm_core.fill_quota_slots(p_tenant_id, array(select f.task_id from unnest(v_found) f));
    end if;
    claimed := claimed || v_found;
    if cardinality(v_found) = v_room then
      limited := limited || r_part.task_type;
    end if;
  end loop;
end
$$;
