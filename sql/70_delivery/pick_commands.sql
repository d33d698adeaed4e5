-- The picker of commands to one destination: what is due behind (p_from_at, p_from_id), oldest first.
-- Never handed out: a command the receiver may have seen when its memory of our key could end within the lease (tick makes it Unknown), and
-- one whose payload is not the one that was hashed (check_invariants shows it).
-- Returns:  uuid[], locked, in order.
-- Locks:    outbox, skip locked. Never an instance row.
create or replace function bpm_core.pick_commands(
  p_tenant_id text, p_destination_id uuid, p_from_at timestamptz, p_from_id uuid, p_limit integer, p_lease interval, p_now timestamptz)
returns uuid[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
begin
  return array(
    select o.id
      from bpm_core.outbox o
     where o.state = 'Pending' and o.tenant_id = p_tenant_id and o.destination_id = p_destination_id
       and o.available_at <= p_now and (o.available_at, o.id) > (p_from_at, p_from_id)
       and (o.review_at is null or o.review_at > p_now + coalesce(p_lease, (o.destination_snapshot ->> 'lease')::interval))
       and o.payload_hash = bpm_core.payload_hash(o.payload)
     order by o.available_at, o.id
     limit p_limit
       for no key update skip locked);
end
$$;
