-- Raises BPMN errors at the activities tokens rest on. A caught one goes on from where it is caught; what stood in between is closed.
-- Returns:  thrown[], those nobody caught, untouched. The instances are locked and written.
-- Writes:   history_event, what catch_thrown and the path ahead write.
create or replace function bpm_core.raise_errors(p_thrown bpm_core.thrown[])
returns bpm_core.thrown[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving  bpm_core.moving[];
  v_uncaught bpm_core.thrown[];
begin
  if coalesce(cardinality(p_thrown), 0) = 0 then
    return '{}'::bpm_core.thrown[];
  end if;
  select c.leaving, c.uncaught into v_leaving, v_uncaught from bpm_core.catch_thrown(p_thrown, false) c;
  -- Of two throwers one may have ended where the other was caught.
  perform bpm_core.advance_isolated(bpm_core.drop_dead(v_leaving));
  return case when v_uncaught = '{}' then v_uncaught else bpm_core.throw_to_callers(v_uncaught, false) end;
end
$$;
