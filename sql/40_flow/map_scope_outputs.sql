-- Applies the output mappings of sub-processes whose scopes have just ended: they see what the scope declared. The patch goes to the scopes around and
-- to the workflow, as if a step after the sub-process had brought it. One that cannot be evaluated stops the host; resolving maps again.
-- p_leaving: the hosts, leaving. Returns: moving[], those that may leave.
-- Writes:   scope, workflow_instance, history_event; token, incident.
create or replace function bpm_core.map_scope_outputs(p_tenant_id text, p_leaving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_stopped bpm_core.trouble[] := array[]::bpm_core.trouble[];
  r_host    record;
  r_mapped  record;
begin
  -- One by one, for a patch changes what the next mapping sees.
  for r_host in
    select row(l.tenant_id, l.instance_id, l.version_id, l.scope_id, l.token_id, l.node_id, l.flow_id, l.kind)::bpm_core.moving as token, n.outputs, s.id as ended
      from unnest(p_leaving) with ordinality l(tenant_id, instance_id, version_id, scope_id, token_id, node_id, flow_id, kind, n)
     cross join lateral (select n.expressions -> 'outputs' as outputs from bpm_core.workflow_node n
                          where n.tenant_id = l.tenant_id and n.workflow_version_id = l.version_id and n.node_id = l.node_id offset 0) n
     cross join lateral (
       select x.id
         from (select s.id, s.node_id from bpm_core.scope s where s.host_token_id = l.token_id offset 0) x
        where x.node_id = l.node_id
        order by x.id desc
        limit 1) s
     where n.outputs is not null
     order by l.n
  loop
    select m.mapped, m.problem, m.detail
      into r_mapped
      from bpm_core.token_variables(p_tenant_id, (r_host.token).instance_id, r_host.ended) v
     cross join lateral bpm_core.map_values(r_host.outputs, v.variables) m;
    if r_mapped.problem is not null then
      v_stopped := v_stopped || bpm_core.task_trouble(r_host.token, r_mapped.problem, r_mapped.detail || jsonb_build_object('ended', r_host.ended));
    else
      insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, node_id, detail)
      values (p_tenant_id, (r_host.token).instance_id, bpm_core.now(), 'VariablesSet', (r_host.token).node_id,
              jsonb_build_object('variables', r_mapped.mapped, 'scope', r_host.ended)
              || bpm_core.local_names(p_tenant_id, (r_host.token).scope_id, r_mapped.mapped));
      update bpm_core.workflow_instance w
         set variables = w.variables || bpm_core.patch_scopes(p_tenant_id, (r_host.token).scope_id, r_mapped.mapped)
       where w.tenant_id = p_tenant_id and w.id = (r_host.token).instance_id;
    end if;
  end loop;
  if cardinality(v_stopped) = 0 then
    return p_leaving;
  end if;
  perform bpm_core.open_incidents(v_stopped);
  return array(select l from unnest(p_leaving) l where l.token_id <> all (array(select (x.token).token_id from unnest(v_stopped) x)));
end
$$;
