-- Like claim_commands, from where the caller's positions stand; what runners use. Hand back the positions with the next claim, also after an
-- empty one. After a rolled-back claim drop them.
-- Returns:  one row: commands jsonb (array of objects with the columns of claim_commands), positions jsonb (opaque),
--           next_due_at (when the next command falls due; null: none known).
-- Raises:   BP403, BP422 as claim_commands; BP400 positions that are not ours.
-- Writes:   as claim_commands. Locks: as claim_commands.
create or replace function bpm.claim_commands_at(
  p_worker text, p_limit integer default 1, p_lease interval default null, p_positions jsonb default null, p_kinds text[] default null,
  p_tenant_id text default '')
returns table (commands jsonb, positions jsonb, next_due_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz;
  r_claim record;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_picker(p_worker, p_limit, p_lease);
  perform bpm_core.check_positions(p_positions, 'object');
  v_now := bpm_core.now();
  select c.* into r_claim from bpm_core.claim_from_lanes(p_tenant_id, p_worker, p_kinds, p_limit, p_lease, p_positions, v_now) c;
  -- In one go, and not row by row: a third of the time of a claim.
  commands := coalesce((
    select to_jsonb(array_agg(x))
      from (select c.command_id, c.attempt, c.fencing_token, c.lease_until, c.destination_code, c.destination, c.task_type, c.business_key,
                   c.process_instance_id, c.payload, c.payload_hash
              from unnest(r_claim.commands) c) x), '[]');
  positions := r_claim.positions;
  if cardinality(r_claim.commands) < p_limit then
    next_due_at := bpm_core.commands_due(p_tenant_id, v_now);
  end if;
  return next;
end
$$;
