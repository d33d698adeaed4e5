-- Publishes events: numbers them, per aggregate in the order they were written. One caller at a time per tenant; who comes second leaves it to the first.
-- Always from the first one that is Pending: from a position, an earlier one of the same aggregate could be passed over.
-- Returns:  tick_result: events published or parked.
-- Writes:   event_outbox, event_stream. Locks: event_stream, skip locked.
create or replace function bpm_core.tick_domain_events(p_tenant_id text, p_limit integer, p_now timestamptz)
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
  v_last   bigint;
  v_found  uuid[];
  v_known  uuid[];
begin
  v_result.done := 0;
  select s.last_no into v_last from bpm_core.event_stream s where s.tenant_id = p_tenant_id for no key update skip locked;
  if not found then
    return v_result;
  end if;
  v_found := array(
    select e.id from bpm_core.event_outbox e where e.state = 'Pending' and e.tenant_id = p_tenant_id order by e.seq limit p_limit);
  v_result.done := cardinality(v_found);
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
