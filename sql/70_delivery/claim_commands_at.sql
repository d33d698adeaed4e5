-- Like claim_commands, from where the caller's positions stand; what runners use. Hand back the positions with the next claim, also after an
-- empty one. After a rolled-back claim drop them.
-- Returns:  one row: commands jsonb (array of objects with the columns of claim_commands), positions jsonb (opaque),
--           next_due_at (when the next command falls due; null: none known).
-- Raises:   BP403, BP422 as claim_commands; BP400 positions that are not ours.
-- Writes:   outbox. Locks: outbox, skip locked.
create or replace function bpm.claim_commands_at(
  p_worker text, p_limit integer default 1, p_lease interval default null, p_positions jsonb default null, p_tenant_id text default '')
returns table (commands jsonb, positions jsonb, next_due_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz;
  v_position bpm_core.pick_position;
  r_scan     record;
  v_claimed  bpm_core.claimed_command[];
  v_count    integer;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  perform bpm_core.check_picker(p_worker, p_limit, p_lease);
  perform bpm_core.check_positions(p_positions, 'object');
  v_now := bpm_core.now();
  v_position := bpm_core.read_position(p_positions -> 'pending');
  select s.* into r_scan from bpm_core.pick_start(v_position, v_now) s;
  v_claimed := array(
    select c from bpm_core.claim_pending_commands(p_tenant_id, p_worker, r_scan.from_at, r_scan.from_id, p_limit, p_lease, v_now) c);
  v_count := cardinality(v_claimed);
  commands := coalesce((select jsonb_agg(to_jsonb(c) - '{available_at,outbox_id}'::text[]) from unnest(v_claimed) c), '[]');
  positions := jsonb_build_object('pending', to_jsonb(bpm_core.pick_end(
    v_position, r_scan.look_back, r_scan.settled, r_scan.whole, v_claimed[v_count].available_at, v_claimed[v_count].outbox_id,
    v_count < p_limit, v_now)));
  if v_count < p_limit then
    next_due_at := bpm_core.commands_due(p_tenant_id, v_now);
  end if;
  return next;
end
$$;
