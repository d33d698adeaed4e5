-- What is declared in a scope and those around it, the nearest winning.
-- p_copies: with what compensation handlers have copied; what is written to that goes outwards too.
-- Returns:  jsonb object; empty at the root.
create or replace function bpm_core.scope_variables(p_tenant_id text, p_scope_id uuid, p_copies boolean default true)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_variables jsonb := '{}'::jsonb;
  v_scope     uuid := p_scope_id;
  r_scope     record;
begin
  while v_scope <> bpm_core.root_scope() loop
    select s.variables, s.is_copy, s.parent_scope_id into r_scope from bpm_core.scope s where s.tenant_id = p_tenant_id and s.id = v_scope;
    if p_copies or not r_scope.is_copy then
      v_variables := r_scope.variables || v_variables;
    end if;
    v_scope := coalesce(r_scope.parent_scope_id, bpm_core.root_scope());
  end loop;
  return v_variables;
end
$$;
