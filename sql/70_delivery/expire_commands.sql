-- Under the locks of their instances: of these commands, those whose lease ran out while Sending become Unknown; those that were being
-- asked for are Unknown again.
-- Returns:  integer, how many.
-- Writes:   as move_commands.
create or replace function bpm_core.expire_commands(p_tenant_id text, p_commands uuid[], p_now timestamptz)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_moves bpm_core.command_move[] := array(
    select row(o.id, 'Unknown', true, null, null, null, jsonb_build_object('error', case o.state when 'Sending' then 'LeaseExpired' else 'ProbeLost' end), null, null, o.attempt, null)::bpm_core.command_move
      from unnest(p_commands) i(id)
     cross join lateral (select o.id, o.state, o.lease_until, o.attempt from bpm_core.outbox o where o.tenant_id = p_tenant_id and o.id = i.id offset 0) o
     where o.state in ('Sending', 'Reconciling') and o.lease_until <= p_now);
begin
  perform bpm_core.move_commands(p_tenant_id, v_moves);
  return cardinality(v_moves);
end
$$;
