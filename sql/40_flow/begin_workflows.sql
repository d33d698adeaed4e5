-- Begins what may begin in processes of several workflows, round after round: what is skipped has ended, so that others may begin; a process all of whose
-- workflows have ended is Completed.
-- p_starts: processes; those just being started (p_first) carry the ids drawn for the workflow that begins first.
-- Returns:  moving[], the first tokens, leaving their start events.
-- Writes:   as insert_workflows and end_processes. The processes are locked, or nobody knows them yet.
create or replace function bpm_core.begin_workflows(p_tenant_id text, p_starts bpm_core.start[], p_first boolean, p_actor text, p_now timestamptz)
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_first   boolean := p_first;
  v_due     bpm_core.due_binding[];
  v_leaving bpm_core.moving[] := '{}'::bpm_core.moving[];
begin
  loop
    v_due := bpm_core.due_bindings(p_tenant_id, p_starts, v_first);
    v_first := false;
    if cardinality(v_due) > 0 then
      v_leaving := v_leaving || bpm_core.insert_workflows(p_tenant_id, v_due, p_actor, p_now);
    end if;
    exit when not exists (select from unnest(v_due) d where d.fate = 'Skip');
  end loop;
  perform bpm_core.complete_processes(p_tenant_id, array(select s.process_instance_id from unnest(p_starts) s), p_now);
  return v_leaving;
end
$$;
