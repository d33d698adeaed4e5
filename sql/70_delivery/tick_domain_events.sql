-- Publishes events: numbers them, per aggregate in the order they were written. One caller at a time per tenant; who comes second leaves it to the first.
-- Its position is a number, not a time (position_of), and it always begins where everything before is known to be settled, never at what was reached: from
-- there an earlier event of the same aggregate could be passed over.
-- Returns:  tick_result: events published or parked, the next position.
-- Writes:   event_outbox, event_stream. Locks: event_stream, skip locked.
create or replace function bpm_core.tick_domain_events(
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
  v_next    bpm_core.pick_position := p_position;
  v_mark    constant bigint := bpm_core.number_at(p_position.mark_at);
  v_result  bpm_core.tick_result;
  r_scan    record;
  v_safe    bigint;
  v_last    bigint;
  v_reached bigint;
  v_found   uuid[];
  v_known   uuid[];
begin
  v_result.done := 0;
  v_result.next_position := v_next;
  select s.last_no into v_last from bpm_core.event_stream s where s.tenant_id = p_tenant_id for no key update skip locked;
  if not found then
    return v_result;
  end if;
  select s.* into r_scan from bpm_core.pick_start(p_position, p_now) s;
  v_safe := case when r_scan.whole then 0 else bpm_core.number_at(p_position.safe_at) end;
  select coalesce(array_agg(f.id order by f.seq), '{}'), max(f.seq)
    into v_found, v_reached
    from (select e.id, e.seq from bpm_core.event_outbox e where e.state = 'Pending' and e.tenant_id = p_tenant_id and e.seq > v_safe order by e.seq limit p_limit) f;
  v_result.done := cardinality(v_found);
  -- Numbers are drawn by writers that have their transaction ids already: once those of before the mark have ended, nothing appears before it any more.
  if r_scan.settled then
    v_next.safe_at := bpm_core.position_of(case when v_result.done < p_limit then v_mark else least(v_mark, v_reached) end);
    v_next.mark_at := bpm_core.position_of(greatest(v_mark, v_reached));
    v_next.horizon := bpm_core.next_transaction();
  end if;
  if r_scan.whole and (r_scan.settled or v_result.done < p_limit) then
    v_next.full_at := p_now;
  end if;
  v_result.next_position := v_next;
  if v_result.done = 0 then
    return v_result;
  end if;
  v_known := array(
    select f.id
      from unnest(v_found) with ordinality f(id, n)
     cross join lateral (select e.event_type from bpm_core.event_outbox e where e.tenant_id = p_tenant_id and e.id = f.id offset 0) e
     where bpm_core.is_event_type(e.event_type)
     order by f.n);
  update bpm_core.event_outbox e
     set state = 'Published', published_no = v_last + k.n, published_at = p_now
    from (select p_tenant_id as tenant_id, k.* from unnest(v_known) with ordinality k(id, n) offset 0) k
   where e.tenant_id = k.tenant_id and e.id = k.id;
  update bpm_core.event_outbox e
     set state = 'Parked'
    from (select p_tenant_id as tenant_id, f.id from unnest(v_found) f(id) where f.id <> all (v_known) offset 0) f
   where e.tenant_id = f.tenant_id and e.id = f.id;
  update bpm_core.event_stream s set last_no = v_last + cardinality(v_known) where s.tenant_id = p_tenant_id;
  return v_result;
end
$$;
