-- Hands out commands that are due to one worker, oldest first per destination, each with a lease and a fencing token. Commit, then send, then
-- bpm.mark_commands. Send with command_id as the key, every time. Runners that claim again and again use claim_commands_at.
-- p_kinds: only to destinations of these kinds (null: all).
-- Returns:  one row per command; destination is the frozen row of the destination (config, key_header, secret_ref, profile), payload_hash sha256 in hex.
-- Raises:   BP403, BP422 worker, limit (1..1000) or lease (1 s..1 day) out of range.
-- Writes:   outbox, destination_slot, destination_gate. Locks: these, skip locked. Never an instance row.
-- Source:   runtime design, transaction cookbook, "Deliver".
create or replace function bpm.claim_commands(
  p_worker text, p_limit integer default 1, p_lease interval default null, p_kinds text[] default null, p_tenant_id text default '')
returns table (command_id uuid, attempt integer, fencing_token bigint, lease_until timestamptz, destination_code text, destination jsonb, task_type text,
               business_key text, process_instance_id uuid, payload jsonb, payload_hash text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_picker(p_worker, p_limit, p_lease);
  return query
  select c.command_id, c.attempt, c.fencing_token, c.lease_until, c.destination_code, c.destination, c.task_type, c.business_key,
         c.process_instance_id, c.payload, c.payload_hash
    from bpm_core.claim_from_lanes(p_tenant_id, p_worker, p_kinds, p_limit, p_lease, null, bpm_core.now()) l
   cross join lateral unnest(l.commands) c;
end
$$;
