-- Under the locks of the processes: workflows of several have ended. In the order in which they ended their variables become those of the process; then what
-- waited for them begins, and where nothing is left the process is Completed. One that failed fails its process, one that was cancelled by itself cancels
-- it, and the others are cancelled. A process that has ended hears nothing any more; what it has heard before it does not hear again.
-- Writes:   process_instance, inbox, history_event, and what begin_workflows and the paths ahead write.
create or replace function bpm_core.apply_workflow_ends(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now     timestamptz := bpm_core.now();
  v_starts  bpm_core.start[];
  v_leaving bpm_core.moving[];
begin
  perform bpm_core.stop_processes(p_tenant_id, array(select r from unnest(p_rows) r where r.payload ->> 'status' in ('Failed', 'Cancelled')), v_now);
  perform bpm_core.pass_variables(p_tenant_id, p_rows, v_now);
  v_starts := array(
    select jsonb_populate_record(null::bpm_core.start, jsonb_build_object('process_instance_id', k.id))
      from (select distinct r.target_id as id from unnest(p_rows) r) k);
  v_leaving := bpm_core.begin_workflows(p_tenant_id, v_starts, false, null, v_now);
  if cardinality(v_leaving) > 0 then
    perform bpm_core.advance_isolated(v_leaving);
  end if;
end
$$;
