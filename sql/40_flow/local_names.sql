-- Which keys of a patch are declared in the scopes around a token, and so do not reach the workflow: history says so, for replay.
-- Returns:  jsonb: {} or {"local": [names]}.
create or replace function bpm_core.local_names(p_tenant_id text, p_scope_id uuid, p_patch jsonb)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_declared jsonb;
  v_names    jsonb;
begin
  if p_patch = '{}' or coalesce(p_scope_id, bpm_core.root_scope()) = bpm_core.root_scope() then
    return '{}'::jsonb;
  end if;
  v_declared := bpm_core.scope_variables(p_tenant_id, p_scope_id, false);
  v_names := (select jsonb_agg(k.name) from jsonb_object_keys(p_patch) k(name) where v_declared ? k.name);
  return case when v_names is null then '{}' else jsonb_build_object('local', v_names) end;
end
$$;
