-- What a completed task's output mappings make of what it brought: they see the variables, its inputs, and that, the nearest last.
-- Returns:  one row: patch, or problem and detail, which keeps what was brought, so that resolving the incident maps it again.
create or replace function bpm_core.mapped_outputs(
  p_tenant_id text, p_instance_id uuid, p_scope_id uuid, p_outputs jsonb, p_input jsonb, p_brought jsonb, out patch jsonb, out problem text, out detail jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  select m.mapped, m.problem, m.detail || jsonb_build_object('brought', p_brought)
    into patch, problem, detail
    from bpm_core.token_variables(p_tenant_id, p_instance_id, coalesce(p_scope_id, bpm_core.root_scope())) v
   cross join lateral bpm_core.map_values(p_outputs, v.variables || coalesce(p_input, '{}') || p_brought) m;
end
$$;
