-- Hands out Unknown commands whose receiver can be asked, and is to be asked now, each with a lease and a fencing token. Ask with GET at probe_url
-- of the destination, {command_id} replaced, then bpm.mark_probes. A lease that runs out changes nothing: it is Unknown again.
-- Without positions: few are Unknown at a time, and each is asked ever more rarely.
-- p_kinds: only to destinations of these kinds (null: all).
-- Returns:  one row per command, destination as in claim_commands.
-- Raises:   BP403, BP422 as claim_commands.
-- Writes:   outbox. Locks: outbox, skip locked. Never an instance row.
create or replace function bpm.claim_probes(
  p_worker text, p_limit integer default 1, p_lease interval default null, p_kinds text[] default null, p_tenant_id text default '')
returns table (command_id uuid, probe integer, fencing_token bigint, lease_until timestamptz, destination_code text, destination jsonb)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_now timestamptz;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_picker(p_worker, p_limit, p_lease);
  v_now := bpm_core.now();
  return query
  with picked as materialized (
    select o.tenant_id, o.id
      from bpm_core.outbox o
     where o.tenant_id = p_tenant_id and o.probe_at <= v_now  -- and so Unknown; not said, or the index of these would be read
       and (p_kinds is null or o.destination_snapshot ->> 'kind' = any (p_kinds))
     order by o.probe_at, o.id
     limit p_limit
       for no key update skip locked)
  update bpm_core.outbox o
     set state = 'Reconciling', fencing_token = o.fencing_token + 1, worker_id = p_worker, probes = o.probes + 1, probe_at = null, review_at = null,
         lease_until = v_now + coalesce(p_lease, (o.destination_snapshot ->> 'lease')::interval)
    from picked p
   where o.tenant_id = p.tenant_id and o.id = p.id
  returning o.command_id, o.probes, o.fencing_token, o.lease_until, o.destination_code, o.destination_snapshot;
end
$$;
