-- KIND pass-through: none events, manual and plain tasks, merges. Leaves a trace in history, nothing else.
create or replace function bpm_core.enter_pass_throughs(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id)
  select a.tenant_id, a.instance_id, bpm_core.now(), 'TokenMoved', a.token_id, a.node_id
    from unnest(p_arriving) a;
  return array(
    select row(a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, null, null)::bpm_core.moving
      from unnest(p_arriving) a);
end
$$;
