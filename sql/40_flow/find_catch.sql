-- Who catches what is thrown at a token: its own activity's boundary events; then, scope by scope outwards, the event sub-processes inside and the boundary
-- events of the activity around. A code that is named goes before one that catches all. What an event sub-process throws is for the outside: none
-- of its own scope catches it. A saga catches last what nothing else inside it does, but not what its own compensation throws.
-- p_kind: ErrorBoundary or EscalationBoundary. Returns: catch; null fields when nobody does.
create or replace function bpm_core.find_catch(p_token bpm_core.moving, p_kind bpm_core.node_kind, p_code text)
returns bpm_core.catch
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_catch  bpm_core.catch;
  v_host   bpm_core.moving := p_token;
  v_inside boolean := false;
  v_from   text := ':saga';
begin
  loop
    select n.node_id, n.interrupting, n.element = 'startEvent'
      into v_catch.node_id, v_catch.interrupting, v_catch.is_start
      from bpm_core.workflow_node n
     where n.tenant_id = v_host.tenant_id and n.workflow_version_id = v_host.version_id and n.attached_to = v_host.node_id
       and n.kind = p_kind and (n.error_code is null or n.error_code = p_code)
       and (v_inside or n.element <> 'startEvent' or n.node_id like '%:saga-start' and v_from not like '%:saga')
     order by n.element = 'startEvent' desc, n.error_code nulls last, n.node_id like '%:saga-start'
     limit 1;
    if found then
      v_catch.host := v_host;
      return v_catch;
    end if;
    exit when v_host.scope_id = bpm_core.root_scope();
    select n.kind <> 'EventSubProcess' into v_inside
      from bpm_core.workflow_node n
     where n.tenant_id = v_host.tenant_id and n.workflow_version_id = v_host.version_id and n.node_id = v_host.node_id;
    v_inside := coalesce(v_inside, true);
    v_from := v_host.node_id;
    -- The first step outwards leaves the thrower, which is no scope; then the host of each scope.
    v_host := (
      select row(t.tenant_id, t.workflow_instance_id, v_host.version_id, t.scope_id, t.id, t.node_id, null, null)::bpm_core.moving
        from bpm_core.scope s
       cross join lateral (select t.* from bpm_core.token t where t.tenant_id = s.tenant_id and t.id = s.host_token_id offset 0) t
       where s.tenant_id = v_host.tenant_id and s.id = v_host.scope_id);
  end loop;
  return null;
end
$$;
