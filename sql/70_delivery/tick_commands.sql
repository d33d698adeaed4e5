-- Commands still Sending when their lease runs out become Unknown: whether they left, and arrived, nobody knows. So do those that were being asked
-- for. Oldest first.
-- Returns:  tick_result: rows done, the next position. Not when the next falls due: finding out would walk every entry of the index that
--           was given up before its time, and these come with every poll anyway.
-- Writes:   as move_commands. Locks: workflow_instance, skip locked.
create or replace function bpm_core.tick_commands(
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
  v_last   bpm_core.candidate;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_found := array(
    select row(o.lease_until, o.id, o.workflow_instance_id)::bpm_core.candidate
      from bpm_core.outbox o
     where o.state in ('Sending', 'Reconciling') and o.tenant_id = p_tenant_id
       and o.lease_until <= p_now and (o.lease_until, o.id) > (r_scan.from_at, r_scan.from_id)
     order by o.lease_until, o.id
     limit p_limit);
  v_result.done := 0;
  if cardinality(v_found) > 0 then
    v_locked := bpm_core.try_lock_instances(p_tenant_id, array(select c.instance_id from unnest(v_found) c));
    v_result.done := bpm_core.expire_commands(p_tenant_id, array(select c.id from unnest(v_found) c where c.instance_id = any (v_locked)), p_now);
    v_last := bpm_core.last_handled(v_found, v_locked);
  end if;
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id,
                                     cardinality(v_found) < p_limit and cardinality(v_found) = v_result.done, p_now, interval '0');
  return v_result;
end
$$;
