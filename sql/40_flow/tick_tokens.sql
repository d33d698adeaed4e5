-- Goes on with parked tokens; sets those of suspended instances aside. Picks unlocked, locks the instances nobody holds, then claims by compare-and-set.
-- Those of instances somebody holds are passed over, ten times the limit at most: one transaction that lasts must not keep all others waiting.
-- Returns:  tick_result: rows done, the next position, when the next falls due. Locks: workflow_instance skip locked.
create or replace function bpm_core.tick_tokens(
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
  v_result bpm_core.tick_result;
  r_scan   record;
  v_found  bpm_core.candidate[];
  v_locked uuid[];
  v_ours   uuid[];
  v_from   bpm_core.candidate;
  v_last   bpm_core.candidate;
  v_count  integer;
  v_all    boolean := true;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_from := row(r_scan.from_at, r_scan.from_id, null)::bpm_core.candidate;
  v_result.done := 0;
  for v_round in 1 .. 10 loop
    v_found := array(
      select row(t.ready_at, t.id, t.workflow_instance_id)::bpm_core.candidate
        from bpm_core.token t
       where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.ready_at <= p_now and (t.ready_at, t.id) > (v_from.at, v_from.id)
       order by t.ready_at, t.id
       limit p_limit - v_result.done);
    exit when v_found = '{}';
    v_locked := bpm_core.try_lock_instances(p_tenant_id, array(select c.instance_id from unnest(v_found) c));
    perform bpm_core.bump_instances(p_tenant_id, v_locked);
    v_ours := array(select c.id from unnest(v_found) c where c.instance_id = any (v_locked));
    v_count := bpm_core.shelve_tokens(p_tenant_id, v_ours) + bpm_core.resume_unheld(p_tenant_id, v_ours);
    v_result.done := v_result.done + v_count;
    v_all := v_all and v_count = cardinality(v_found);
    -- The position stays where something was left.
    if v_round = 1 and v_count = cardinality(v_ours) then
      v_last := bpm_core.last_handled(v_found, v_locked);
    end if;
    exit when v_all or v_result.done >= p_limit;
    v_from := v_found[cardinality(v_found)];
  end loop;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     v_all and v_result.done < p_limit, p_now);
  v_result.next_due_at := (
    select t.ready_at
      from bpm_core.token t
     where t.state = 'Ready' and t.tenant_id = p_tenant_id and t.ready_at > p_now and t.ready_at <= p_now + interval '10 seconds'
     order by t.ready_at
     limit 1);
  return v_result;
end
$$;
