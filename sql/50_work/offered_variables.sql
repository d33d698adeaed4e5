-- What a worker sees of a task it is handed: the process's variables or what a call passed, the workflow's own, those of its scope, and over them what its mappings gave. Inlined into its caller.
-- Returns:  jsonb object.
create or replace function bpm_core.offered_variables(p_tenant_id text, p_scope_id uuid, p_passed jsonb, p_own jsonb, p_input jsonb)
returns jsonb
language sql stable
as $$
  select case when p_scope_id is null then p_passed || p_own else p_passed || p_own || bpm_core.scope_variables(p_tenant_id, p_scope_id) end || coalesce(p_input, '{}')
$$;
