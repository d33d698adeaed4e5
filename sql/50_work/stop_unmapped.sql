-- Stops the tokens of completed tasks whose output mappings could not be evaluated. What else waited on them is closed: the task is done.
-- Writes:   token, incident, history_event, and what close_events writes.
create or replace function bpm_core.stop_unmapped(p_tenant_id text, p_unmapped bpm_core.unmapped[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.close_events(p_tenant_id, array(select (u.task).token_id from unnest(p_unmapped) u));
  perform bpm_core.open_incidents(array(
    select bpm_core.task_trouble(
             row(p_tenant_id, (u.task).instance_id, null, (u.task).scope_id, (u.task).token_id, (u.task).node_id, t.via_flow_id, null)::bpm_core.moving,
             u.problem, u.detail || jsonb_build_object('completed', (u.task).task_id))
      from (select p_tenant_id as tenant_id, (u.task).token_id, u.* from unnest(p_unmapped) u offset 0) u
     cross join lateral (select t.via_flow_id from bpm_core.token t where t.tenant_id = u.tenant_id and t.id = u.token_id offset 0) t));
end
$$;
