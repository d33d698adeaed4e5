-- Applies what is due in the inbox, oldest first per target. Picks unlocked, locks the instances nobody holds, then the rows; then the same with processes of
-- several workflows, which come after instances in the lock order.
-- Returns:  tick_result: rows done, the next position, when the next falls due. Locks: workflow_instance skip locked, inbox, process_instance skip locked.
create or replace function bpm_core.tick_inbox(
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
  v_others uuid[];
  v_last   bpm_core.candidate;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_found := array(
    select row(i.available_at, i.id, i.target_id)::bpm_core.candidate
      from bpm_core.inbox i
     where i.tenant_id = p_tenant_id and i.available_at <= p_now and (i.available_at, i.id) > (r_scan.from_at, r_scan.from_id)
     order by i.available_at, i.id
     limit p_limit);
  v_result.done := 0;
  if cardinality(v_found) > 0 then
    v_locked := bpm_core.try_lock_instances(p_tenant_id, array(select c.instance_id from unnest(v_found) c));
    v_result.done := bpm_core.apply_inbox_soon(p_tenant_id, array(select c.id from unnest(v_found) c where c.instance_id = any (v_locked)));
    v_others := array(select c.instance_id from unnest(v_found) c where c.instance_id <> all (v_locked));
    if cardinality(v_others) > 0 then
      v_others := bpm_core.try_lock_processes(p_tenant_id, v_others);
      v_result.done := v_result.done + bpm_core.apply_inbox_soon(p_tenant_id, array(select c.id from unnest(v_found) c where c.instance_id = any (v_others)));
      v_locked := v_locked || v_others;
    end if;
    v_last := case when v_result.done = cardinality(v_found) then bpm_core.last_handled(v_found, v_locked) end;
  end if;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     cardinality(v_found) < p_limit and cardinality(v_found) = v_result.done, p_now);
  v_result.next_due_at := (
    select i.available_at
      from bpm_core.inbox i
     where i.tenant_id = p_tenant_id and i.available_at > p_now and i.available_at < 'infinity'
     order by i.available_at
     limit 1);
  return v_result;
end
$$;
