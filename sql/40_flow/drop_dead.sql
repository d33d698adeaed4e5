-- Leaves out the tokens that were ended by another token of the same hop (a terminate end).
-- Returns:  moving[], those still live.
create or replace function bpm_core.drop_dead(p_moving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select m::bpm_core.moving
      from unnest(p_moving) m
      join bpm_core.token t on t.tenant_id = m.tenant_id and t.id = m.token_id
     where t.state not in ('Completed', 'Terminated'));
end
$$;
