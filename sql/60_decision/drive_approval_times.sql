-- What time does to open approvals: expires them, lets one more person decide, reminds. Picks those due first, of instances nobody holds that are running;
-- the time of a suspended one goes on, its approvals are looked at when it is resumed. A reminder keeps its grid, missed ones are made up for by one.
-- Returns:  tick_result: rows done, no position, when the next falls due within a minute.
-- Writes:   approval_record, history_event, and what apply_decisions and stop_starved write. Locks: workflow_instance, skip locked.
create or replace function bpm_core.drive_approval_times(p_tenant_id text, p_limit integer)
returns bpm_core.tick_result
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_now    timestamptz := bpm_core.now();
  v_result bpm_core.tick_result;
  v_found  bpm_core.candidate[];
begin
  v_found := array(
    select row(a.due_at, a.id, a.workflow_instance_id)::bpm_core.candidate
      from bpm_core.approval_record a
     -- Locked while picking: instances somebody holds do not use up the limit, or one transaction that lasts would keep all others waiting.
     cross join lateral (select w.id from bpm_core.workflow_instance w
                          where w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id and w.status = 'Running'
                            for no key update skip locked) w
     where a.status = 'Pending' and a.due_at is not null and a.tenant_id = p_tenant_id and a.due_at <= v_now
     order by a.due_at, a.id
     limit p_limit);
  v_result.done := 0;
  if cardinality(v_found) > 0 then
    v_result.done := bpm_core.apply_unheld_approvals(p_tenant_id, array(select c.id from unnest(v_found) c), true);
  end if;
  v_result.next_due_at := (
    select a.due_at
      from bpm_core.approval_record a
     where a.status = 'Pending' and a.due_at is not null and a.tenant_id = p_tenant_id and a.due_at > v_now and a.due_at <= v_now + interval '1 minute'
     order by a.due_at
     limit 1);
  return v_result;
end
$$;
