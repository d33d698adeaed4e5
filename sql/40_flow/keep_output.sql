-- Puts the outputs of all items into the output collection, in the order of the items; null for those that were closed or never begun.
-- Writes:   scope or workflow_instance (variables), history_event.
create or replace function bpm_core.keep_output(p_host bpm_core.loop_state, p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_host  bpm_core.moving := p_host.host;
  v_patch jsonb;
begin
  select jsonb_build_object(p_host.spec ->> 'into', coalesce(jsonb_agg(x.output order by x.index), '[]'))
    into v_patch
    from (select s.mi_index as index, s.output
            from (select s.* from bpm_core.scope s where s.host_token_id = v_host.token_id offset 0) s
           where s.tenant_id = v_host.tenant_id and s.visit = p_host.visit
          union all
          select g.i, null from generate_series(p_host.created, p_host.total - 1) g(i)) x;
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  values (v_host.tenant_id, v_host.instance_id, p_now, 'ScopeCompleted', v_host.token_id, v_host.node_id,
          jsonb_build_object('total', p_host.total, 'done', p_host.done, 'variables', v_patch) || bpm_core.local_names(v_host.tenant_id, v_host.scope_id, v_patch));
  v_patch := bpm_core.patch_scopes(v_host.tenant_id, v_host.scope_id, v_patch);
  if v_patch <> '{}' then
    update bpm_core.workflow_instance w
       set variables = w.variables || v_patch
     where w.tenant_id = v_host.tenant_id and w.id = v_host.instance_id;
  end if;
end
$$;
