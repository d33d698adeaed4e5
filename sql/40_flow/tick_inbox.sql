-- Applies what is due in the inbox, oldest first per target. Picks unlocked, locks the instances nobody holds, then the rows; then the same with processes of
-- several workflows, which come after instances in the lock order.
-- Rows of what somebody holds are passed over, ten times the limit at most: one transaction that lasts must not keep all others waiting.
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
      select row(i.available_at, i.id, i.target_id)::bpm_core.candidate
        from bpm_core.inbox i
       where i.tenant_id = p_tenant_id and i.available_at <= p_now and (i.available_at, i.id) > (v_from.at, v_from.id)
       order by i.available_at, i.id
       limit p_limit - v_result.done);
    exit when v_found = '{}';
    v_locked := bpm_core.try_lock_instances(p_tenant_id, array(select c.instance_id from unnest(v_found) c));
    v_count := bpm_core.apply_inbox_soon(p_tenant_id, array(select c.id from unnest(v_found) c where c.instance_id = any (v_locked)));
    v_others := array(select c.instance_id from unnest(v_found) c where c.instance_id <> all (v_locked));
    if cardinality(v_others) > 0 then
      v_others := bpm_core.try_lock_processes(p_tenant_id, v_others);
      v_count := v_count + bpm_core.apply_inbox_soon(p_tenant_id, array(select c.id from unnest(v_found) c where c.instance_id = any (v_others)));
      v_locked := v_locked || v_others;
    end if;
    v_result.done := v_result.done + v_count;
    v_all := v_all and v_count = cardinality(v_found);
    -- The position stays where something was left.
    if v_round = 1 and v_all then
      v_last := bpm_core.last_handled(v_found, v_locked);
    end if;
    -- With a process locked no further instance is: they come first in the lock order.
    exit when v_all or v_result.done >= p_limit or v_others <> '{}';
    v_from := v_found[cardinality(v_found)];
  end loop;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     v_all and v_result.done < p_limit, p_now);
  v_result.next_due_at := (
    select i.available_at
      from bpm_core.inbox i
     where i.tenant_id = p_tenant_id and i.available_at > p_now and i.available_at < 'infinity'
     order by i.available_at
     limit 1);
  return v_result;
end
$$;
