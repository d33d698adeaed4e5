-- The picker of commands: leases what is due behind (p_from_at, p_from_id), oldest first.
-- Never handed out: a command the receiver may have seen when its memory of our key could end within the lease (tick makes it Unknown), and
-- one whose payload is not the one that was hashed (check_invariants shows it).
-- Returns:  the commands as leased.
-- Locks:    outbox, skip locked. Never an instance row.
create or replace function bpm_core.claim_pending_commands(
  p_tenant_id text, p_worker text, p_from_at timestamptz, p_from_id uuid, p_limit integer, p_lease interval, p_now timestamptz)
returns setof bpm_core.claimed_command
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
begin
  return query
  with picked as materialized (
    select o.tenant_id, o.id, coalesce(p_lease, (o.destination_snapshot ->> 'lease')::interval) as lease
      from bpm_core.outbox o
     where o.state = 'Pending' and o.tenant_id = p_tenant_id
       and o.available_at <= p_now and (o.available_at, o.id) > (p_from_at, p_from_id)
       and (o.review_at is null or o.review_at > p_now + coalesce(p_lease, (o.destination_snapshot ->> 'lease')::interval))
       and o.payload_hash = bpm_core.payload_hash(o.payload)
     order by o.available_at, o.id
     limit p_limit
       for no key update skip locked),
  leased as (
    update bpm_core.outbox o
       set state = 'Sending', attempt = o.attempt + 1, fencing_token = o.fencing_token + 1, worker_id = p_worker, claimed_at = p_now,
           lease_until = p_now + p.lease, review_at = null
      from picked p
     where o.tenant_id = p.tenant_id and o.id = p.id
    returning o.*)
  select l.available_at, l.id, l.command_id, l.attempt, l.fencing_token, l.lease_until, l.destination_code, l.destination_snapshot, l.task_type,
         p.business_key, w.process_instance_id, l.payload, encode(l.payload_hash, 'hex')
    from leased l
    join bpm_core.workflow_instance w on w.tenant_id = l.tenant_id and w.id = l.workflow_instance_id
    join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
   order by l.available_at, l.id;
end
$$;
