-- What time does to open approvals: expires them, lets one more person decide, reminds. Picks those due first, of instances nobody holds that are running;
-- the time of a suspended one goes on, its approvals are looked at when it is resumed: the position stays before them. A reminder keeps its grid, missed ones
-- are made up for by one.
-- Returns:  tick_result: rows done, the next position, when the next falls due within ten seconds.
-- Writes:   approval_record, history_event, and what apply_decisions and stop_starved write. Locks: workflow_instance, skip locked.
create or replace function bpm_core.drive_approval_times(
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
  v_result  bpm_core.tick_result;
  r_scan    record;
  r_this    record;
  v_found   uuid[] := array[]::uuid[];
  v_last    bpm_core.candidate;
  v_all     boolean := true;
  v_any     boolean;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_result.done := 0;
  -- Nearly always there are none, and a loop costs more than a look.
  v_any := (
    select true
      from bpm_core.approval_record a
     where a.status = 'Pending' and a.due_at is not null and a.tenant_id = p_tenant_id
       and a.due_at <= p_now and (a.due_at, a.id) > (r_scan.from_at, r_scan.from_id)
     order by a.due_at, a.id
     limit 1);
  if v_any then
    for r_this in
      -- Locked while picking: instances somebody holds do not use up the limit, or one transaction that lasts would keep all others waiting.
      select a.id, a.workflow_instance_id, a.due_at as at, w.id is not null as ours
        from bpm_core.approval_record a
        left join lateral (select w.id from bpm_core.workflow_instance w
                            where w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id and w.status = 'Running'
                              for no key update skip locked) w on true
       where a.status = 'Pending' and a.due_at is not null and a.tenant_id = p_tenant_id
         and a.due_at <= p_now and (a.due_at, a.id) > (r_scan.from_at, r_scan.from_id)
       order by a.due_at, a.id
    loop
      if not r_this.ours then
        v_all := false;
      else
        v_found := v_found || r_this.id;
        if v_all then
          v_last := row(r_this.at, r_this.id, r_this.workflow_instance_id)::bpm_core.candidate;
        end if;
      end if;
      exit when cardinality(v_found) >= p_limit;
    end loop;
    v_result.done := bpm_core.apply_unheld_approvals(p_tenant_id, v_found, true);
    if v_result.done < cardinality(v_found) then
      v_last := null;
    end if;
  end if;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     v_all and cardinality(v_found) < p_limit and v_result.done = cardinality(v_found), p_now);
  v_result.next_due_at := (
    select a.due_at
      from bpm_core.approval_record a
     where a.status = 'Pending' and a.due_at is not null and a.tenant_id = p_tenant_id and a.due_at > p_now and a.due_at <= p_now + interval '10 seconds'
     order by a.due_at
     limit 1);
  return v_result;
end
$$;
