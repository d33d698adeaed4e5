-- What sub-processes that ended hand outwards by their output mappings: patched into the nearest scope around that declares it, else into the workflow.
-- Returns:  one row per scope with mappings: its patch and the names in it that a scope keeps, for history.
-- Writes:   workflow_instance, scope.
create or replace function bpm_core.map_scope_outputs(p_tenant_id text, p_scopes uuid[])
returns table (scope_id uuid, detail jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_scope record;
begin
  for r_scope in
    select s.id, s.workflow_instance_id, coalesce(s.parent_scope_id, bpm_core.root_scope()) as around, m.mapped
      from unnest(p_scopes) k(id)
     cross join lateral (select s.* from bpm_core.scope s where s.tenant_id = p_tenant_id and s.id = k.id offset 0) s
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w where w.tenant_id = p_tenant_id and w.id = s.workflow_instance_id offset 0) w
     cross join lateral (select n.expressions -> 'outputs' as outputs from bpm_core.workflow_node n
                          where n.tenant_id = p_tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = s.node_id offset 0) n
     cross join lateral bpm_core.token_variables(p_tenant_id, s.workflow_instance_id, s.id) v
     cross join lateral (select m.mapped from bpm_core.map_values(n.outputs, v.variables) m where n.outputs is not null offset 0) m
     order by k.id
  loop
    scope_id := r_scope.id;
    detail := jsonb_build_object('variables', r_scope.mapped) || bpm_core.local_names(p_tenant_id, r_scope.around, r_scope.mapped);
    update bpm_core.workflow_instance w
       set variables = w.variables || bpm_core.patch_scopes(p_tenant_id, r_scope.around, r_scope.mapped)
     where w.tenant_id = p_tenant_id and w.id = r_scope.workflow_instance_id;
    return next;
  end loop;
end
$$;
