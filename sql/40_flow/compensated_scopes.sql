-- Which scopes a thrower compensates: its own. Inside an event sub-process also the scope around; where that was begun by compensation, the one that was
-- completed.
-- Returns:  uuid[], without the completed scopes below.
create or replace function bpm_core.compensated_scopes(p_thrower bpm_core.moving)
returns uuid[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_scopes uuid[] := array[p_thrower.scope_id];
  v_scope  uuid := p_thrower.scope_id;
  v_by     boolean := false;
  r_scope  record;
begin
  while v_scope <> bpm_core.root_scope() loop
    select coalesce(s.parent_scope_id, bpm_core.root_scope()) as parent_id, s.is_copy, n.kind = 'EventSubProcess' as by_event
      into r_scope
      from bpm_core.scope s
     cross join lateral (select n.kind from bpm_core.workflow_node n
                          where n.tenant_id = s.tenant_id and n.workflow_version_id = p_thrower.version_id and n.node_id = s.node_id offset 0) n
     where s.tenant_id = p_thrower.tenant_id and s.id = v_scope;
    if v_by and r_scope.is_copy then
      return v_scopes || array(select r.inner_scope_id from bpm_core.compensation_record r where r.handler_scope_id = v_scope);
    end if;
    exit when not r_scope.by_event;
    v_by := true;
    v_scope := r_scope.parent_id;
    v_scopes := v_scopes || v_scope;
  end loop;
  return v_scopes;
end
$$;
