-- Errors nobody in their instance catches: where a caller does, the instance has failed and its caller hears of it through the inbox.
-- p_ends: the thrower is at an error end event, where its token ends; else it is at an activity and is terminated with all others.
-- Returns:  thrown[], those no caller catches either, untouched. Writes: as complete_tokens and fail_instances.
create or replace function bpm_core.throw_to_callers(p_thrown bpm_core.thrown[], p_ends boolean)
returns bpm_core.thrown[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_uncaught bpm_core.thrown[] := '{}'::bpm_core.thrown[];
  v_thrown   bpm_core.thrown;
begin
  foreach v_thrown in array p_thrown loop
    if cardinality(bpm_core.drop_dead(array[v_thrown.token])) = 0 then
      continue;
    elsif bpm_core.is_caught_by_caller(v_thrown.token, 'ErrorBoundary', v_thrown.code) then
      if p_ends then
        perform bpm_core.complete_tokens(array[v_thrown.token]);
      end if;
      perform bpm_core.fail_instances((v_thrown.token).tenant_id, array[(v_thrown.token).instance_id],
                                      jsonb_build_object('code', v_thrown.code, 'message', v_thrown.message));
    else
      v_uncaught := v_uncaught || v_thrown;
    end if;
  end loop;
  return v_uncaught;
end
$$;
