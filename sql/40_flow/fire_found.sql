-- Fires the timers a picker found whose instance, or in case of a start timer whose definition, nobody holds.
-- Returns:  done, and last: how far all of them were dealt with, null when something was left before the end.
-- Writes:   as fire_timers, fire_start_timers. Locks: workflow_instance and process_definition skip locked, then timer.
create or replace function bpm_core.fire_found(
  p_tenant_id text, p_found bpm_core.candidate[], p_versions uuid[], out done integer, out last bpm_core.candidate)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_locked   uuid[];
  v_versions uuid[] := array[]::uuid[];
begin
  v_locked := bpm_core.try_lock_instances(p_tenant_id, array(select c.instance_id from unnest(p_found) c where c.instance_id <> all (p_versions)));
  if p_versions <> '{}' then
    v_versions := bpm_core.try_lock_definitions(p_tenant_id, p_versions);
  end if;
  done := bpm_core.fire_unheld(p_tenant_id, array(select c.id from unnest(p_found) c where c.instance_id = any (v_locked)), bpm_core.now());
  if v_versions <> '{}' then
    done := done + bpm_core.fire_start_timers(p_tenant_id, array(select c.id from unnest(p_found) c where c.instance_id = any (v_versions)), bpm_core.now());
  end if;
  v_locked := v_locked || v_versions;
  -- Of one token only the oldest fired; the position stays until the others have.
  if done = (select count(*) from unnest(p_found) c where c.instance_id = any (v_locked)) then
    last := bpm_core.last_handled(p_found, v_locked);
  end if;
end
$$;
