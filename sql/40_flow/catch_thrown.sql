-- Lets errors be caught: the host of the catching boundary event leaves by it, with everything in it closed; an event sub-process begins in its scope.
-- One by one, since the first may end what the second stands in; such a one is gone.
-- p_ends: the throwers are end events, so their tokens end there; else they rest at the activity that throws.
-- Returns:  leaving moving[]: what goes on, not yet moved; uncaught thrown[], untouched.
-- Writes:   token, workflow_instance, scope, what take_error writes. The instances are locked.
create or replace function bpm_core.catch_thrown(p_thrown bpm_core.thrown[], p_ends boolean, out leaving bpm_core.moving[], out uncaught bpm_core.thrown[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_thrown bpm_core.thrown;
  v_catch  bpm_core.catch;
begin
  leaving := '{}';
  uncaught := '{}';
  foreach v_thrown in array p_thrown loop
    continue when cardinality(bpm_core.drop_dead(array[v_thrown.token])) = 0;
    v_catch := bpm_core.find_catch(v_thrown.token, 'ErrorBoundary', v_thrown.code);
    if v_catch.node_id is null then
      uncaught := uncaught || v_thrown;
      continue;
    end if;
    v_catch.interrupting := true;  -- an error ends what it is caught at, whatever the drawing says
    if p_ends then
      perform bpm_core.complete_tokens(array[v_thrown.token]);
    end if;
    leaving := leaving || bpm_core.take_error(v_thrown, v_catch);
  end loop;
end
$$;
