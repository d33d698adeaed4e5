-- The picker where commands of one key leave one after the other. Of what is due, those with one of their key before them, or with one under way or
-- of unknown fate, are put to sleep, once each; the end of that one wakes them (wake_sequences).
-- Two statements: the first takes the keys, so that no other claim can hand out another of them; the second sees what those who held them before did.
-- Returns:  uuid[], locked, in order.
-- Writes:   outbox. Locks: outbox, skip locked; the keys, tried.
create or replace function bpm_core.pick_ordered_commands(
  p_tenant_id text, p_destination_id uuid, p_from_at timestamptz, p_from_id uuid, p_limit integer, p_lease interval, p_now timestamptz)
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_found   uuid[];
  v_blocked uuid[];
  v_free    uuid[];
begin
  for i in 1 .. 20 loop
    v_found := array(
      select o.id
        from bpm_core.outbox o
       where o.state = 'Pending' and o.tenant_id = p_tenant_id and o.destination_id = p_destination_id
         and o.available_at <= p_now and (o.available_at, o.id) > (p_from_at, p_from_id)
         and (o.review_at is null or o.review_at > p_now + coalesce(p_lease, (o.destination_snapshot ->> 'lease')::interval))
         and o.payload_hash = bpm_core.payload_hash(o.payload)
         and (o.sequence_key is null or pg_try_advisory_xact_lock(hashtextextended(p_destination_id || ' ' || o.sequence_key, 70)))
       order by o.available_at, o.id
       limit greatest(p_limit, 50)
         for no key update skip locked);
    v_blocked := array(
      select o.id
        from unnest(v_found) f(id)
       cross join lateral (select o.id, o.destination_id, o.sequence_key from bpm_core.outbox o where o.tenant_id = p_tenant_id and o.id = f.id offset 0) o
        left join lateral (
          select x.id
            from bpm_core.outbox x
           where x.destination_id = o.destination_id and x.sequence_key = o.sequence_key and x.ended_at is null and x.tenant_id = p_tenant_id
           order by x.id
           limit 1) head on true
        left join lateral (
          select true as yes
            from bpm_core.outbox x
           where x.destination_id = o.destination_id and x.sequence_key = o.sequence_key and x.state in ('Sending', 'Unknown', 'Reconciling', 'Manual')
             and x.tenant_id = p_tenant_id
           limit 1) busy on true
       where head.id < o.id or busy.yes);
    update bpm_core.outbox o
       set available_at = 'infinity'
      from (select p_tenant_id as tenant_id, b.id from unnest(v_blocked) b(id) offset 0) b
     where o.tenant_id = b.tenant_id and o.id = b.id;
    v_free := array(select f.id from unnest(v_found) with ordinality f(id, n) where f.id <> all (v_blocked) order by f.n limit p_limit);
    exit when cardinality(v_free) > 0 or cardinality(v_found) = 0;
  end loop;
  return v_free;
end
$$;
