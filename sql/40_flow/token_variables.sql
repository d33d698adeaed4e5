-- What a token sees: process variables (of a called instance instead: what it was given), then those of its workflow, then those declared in the scopes around it; the nearer wins. Called in FROM, where
-- it is inlined.
-- Returns:  one row, variables jsonb object.
create or replace function bpm_core.token_variables(p_tenant_id text, p_instance_id uuid, p_scope_id uuid)
returns table (variables jsonb)
language sql stable
as $$
  select case when p_scope_id = '00000000-0000-0000-0000-000000000000' then coalesce(w.inputs, p.variables) || w.variables
              else coalesce(w.inputs, p.variables) || w.variables || bpm_core.scope_variables(p_tenant_id, p_scope_id) end
    from bpm_core.workflow_instance w
   cross join lateral (select p.variables from bpm_core.process_instance p
                        where p.tenant_id = w.tenant_id and p.id = w.process_instance_id offset 0) p
   where w.tenant_id = p_tenant_id and w.id = p_instance_id
  offset 0
$$;
