-- Patches the scopes around a token: each key goes to the nearest that declares it. From the copy a compensation handler has of them it goes on outwards.
-- Returns:  jsonb, what no scope declares: it belongs to the workflow. Writes: scope.
create or replace function bpm_core.patch_scopes(p_tenant_id text, p_scope_id uuid, p_patch jsonb)
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_rest  jsonb := p_patch;
  v_scope uuid := p_scope_id;
  v_names text[];
  r_scope record;
begin
  while v_rest <> '{}' and v_scope <> bpm_core.root_scope() loop
    select s.variables, s.is_copy, s.parent_scope_id into r_scope from bpm_core.scope s where s.tenant_id = p_tenant_id and s.id = v_scope;
    v_names := array(select k.name from jsonb_object_keys(v_rest) k(name) where r_scope.variables ? k.name);
    if cardinality(v_names) > 0 then
      update bpm_core.scope s
         set variables = s.variables || (select jsonb_object_agg(n.name, v_rest -> n.name) from unnest(v_names) n(name))
       where s.tenant_id = p_tenant_id and s.id = v_scope;
      v_rest := case when r_scope.is_copy then v_rest else v_rest - v_names end;
    end if;
    v_scope := coalesce(r_scope.parent_scope_id, bpm_core.root_scope());
  end loop;
  return v_rest;
end
$$;
