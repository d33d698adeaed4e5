-- The reaper: leases that ran out are failures of kind LeaseExpired. Picks unlocked, locks the instances nobody holds, then the tasks, then looks again.
-- Returns:  tick_result: rows done, the next position. Not when the next falls due: finding out would walk every entry of the index that
--           was given up before its time, and these come with every poll anyway.
-- Writes:   as settle_failures. Locks: workflow_instance skip locked, then task_instance.
create or replace function bpm_core.tick_leases(
  p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_now      timestamptz;
  v_result bpm_core.tick_result;
  r_scan     record;
  v_found    bpm_core.candidate[];
  v_locked   uuid[];
  v_failures bpm_core.failure[];
  v_last     bpm_core.candidate;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_found := array(
    select row(t.lease_until, t.id, t.workflow_instance_id)::bpm_core.candidate
      from bpm_core.task_instance t
     where t.state = 'Executing' and t.tenant_id = p_tenant_id and t.lease_until <= p_now and (t.lease_until, t.id) > (r_scan.from_at, r_scan.from_id)
     order by t.lease_until, t.id
     limit p_limit);
  v_result.done := 0;
  if cardinality(v_found) > 0 then
    v_locked := bpm_core.try_lock_instances(p_tenant_id, array(select c.instance_id from unnest(v_found) c));
    perform bpm_core.lock_tasks(p_tenant_id, array(select c.id from unnest(v_found) c where c.instance_id = any (v_locked)));
    -- The clock once more, after the locks: it is what history will say.
    v_now := bpm_core.now();
    v_failures := array(
      select row(1, t.id, t.fencing_token,
                 jsonb_build_object('kind', 'LeaseExpired', 'message', format('The lease of worker %s ran out.', t.worker_id)), true, null)::bpm_core.failure
        from unnest(v_found) c
       cross join lateral (select t.* from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = c.id offset 0) t
       where c.instance_id = any (v_locked) and t.state = 'Executing' and t.lease_until <= v_now);
    v_result.done := (select count(*)::integer from bpm_core.settle_failures(p_tenant_id, v_failures, true, v_now));
    v_last := bpm_core.last_handled(v_found, v_locked);
  end if;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     cardinality(v_found) < p_limit and cardinality(v_found) = v_result.done, p_now);
  return v_result;
end
$$;
