-- The reaper: leases that ran out are failures of kind LeaseExpired. Picks unlocked, locks the instances nobody holds, then the tasks, then looks again.
-- Those of instances somebody holds are passed over, ten times the limit at most: one transaction that lasts must not keep all others waiting.
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
  v_from     bpm_core.candidate;
  v_last     bpm_core.candidate;
  v_count    integer;
  v_all      boolean := true;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_from := row(r_scan.from_at, r_scan.from_id, null)::bpm_core.candidate;
  v_result.done := 0;
  for v_round in 1 .. 10 loop
    v_found := array(
      select row(t.lease_until, t.id, t.workflow_instance_id)::bpm_core.candidate
        from bpm_core.task_instance t
       where t.state = 'Executing' and t.tenant_id = p_tenant_id and t.lease_until <= p_now and (t.lease_until, t.id) > (v_from.at, v_from.id)
       order by t.lease_until, t.id
       limit p_limit - v_result.done);
    exit when v_found = '{}';
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
    v_count := (select count(*)::integer from bpm_core.settle_failures(p_tenant_id, v_failures, true, v_now));
    v_result.done := v_result.done + v_count;
    v_all := v_all and v_count = cardinality(v_found);
    -- The position stays where something was left.
    v_last := case when v_round = 1 then bpm_core.last_handled(v_found, v_locked) else v_last end;
    exit when v_all or v_result.done >= p_limit;
    v_from := v_found[cardinality(v_found)];
  end loop;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     v_all and v_result.done < p_limit, p_now, interval '0');
  return v_result;
end
$$;
