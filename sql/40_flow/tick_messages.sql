-- Expires buffered messages whose time to live is over. Until then they are not correlated either: every match looks at the clock.
-- Returns:  tick_result: rows done, the next position. Not when the next falls due: finding out would walk every entry of the index that
--           was given up before its time, and these come with every poll anyway. Locks: message, skip locked.
create or replace function bpm_core.tick_messages(
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
  v_expired bpm_core.candidate[];
  v_last    bpm_core.candidate;
begin
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  with picked as materialized (
    select m.tenant_id, m.id
      from bpm_core.message m
     where m.state = 'Buffered' and m.tenant_id = p_tenant_id and m.expires_at <= p_now and (m.expires_at, m.id) > (r_scan.from_at, r_scan.from_id)
     order by m.expires_at, m.id
     limit p_limit
       for no key update skip locked),
  expired as (
    update bpm_core.message m
       set state = 'Expired'
      from picked p
     where m.tenant_id = p.tenant_id and m.id = p.id
    returning m.expires_at, m.id)
  select array_agg(row(e.expires_at, e.id, null)::bpm_core.candidate order by e.expires_at, e.id)
    into v_expired
    from expired e;
  v_result.done := coalesce(cardinality(v_expired), 0);
  v_last := v_expired[v_result.done];
  v_result.next_position := bpm_core.pick_end(p_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_last.at, v_last.id, v_result.done < p_limit, p_now);
  return v_result;
end
$$;
