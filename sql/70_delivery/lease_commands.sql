-- Leases picked, locked commands to a worker.
-- Returns:  claimed_command[], in the order of p_commands.
-- Writes:   outbox.
create or replace function bpm_core.lease_commands(
  p_tenant_id text, p_commands uuid[], p_slots integer[], p_worker text, p_lease interval, p_now timestamptz)
returns bpm_core.claimed_command[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_claimed bpm_core.claimed_command[];
begin
  with leased as (
    update bpm_core.outbox o
       set state = 'Sending', attempt = o.attempt + 1, fencing_token = o.fencing_token + 1, worker_id = p_worker, claimed_at = p_now,
           lease_until = p_now + coalesce(p_lease, (o.destination_snapshot ->> 'lease')::interval), review_at = null, probes = 0,
           slot = p_slots[c.n]
      from (select p_tenant_id as tenant_id, c.* from unnest(p_commands) with ordinality c(id, n) offset 0) c
     where o.tenant_id = c.tenant_id and o.id = c.id
    returning o.*, c.n)
  select array_agg(row(l.available_at, l.id, l.command_id, l.attempt, l.fencing_token, l.lease_until, l.destination_code, l.destination_snapshot,
                       l.task_type, p.business_key, w.process_instance_id, l.payload, encode(l.payload_hash, 'hex'))::bpm_core.claimed_command order by l.n)
    into v_claimed
    from leased l
   cross join lateral (select w.tenant_id, w.process_instance_id from bpm_core.workflow_instance w
                        where w.tenant_id = l.tenant_id and w.id = l.workflow_instance_id offset 0) w
   cross join lateral (select p.business_key from bpm_core.process_instance p
                        where p.tenant_id = w.tenant_id and p.id = w.process_instance_id offset 0) p;
  return coalesce(v_claimed, '{}');
end
$$;
