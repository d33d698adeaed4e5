-- Moves the tokens of accepted tasks on: patches merged per instance in item order (what a scope declares goes there), what else waited on the token
-- closed, then advance.
-- Writes:   workflow_instance once, scope, and whatever the nodes ahead write.
create or replace function bpm_core.continue_accepted(p_tenant_id text, p_accepted bpm_core.accepted[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_accepted bpm_core.accepted[] := p_accepted;
begin
  if exists (select from unnest(p_accepted) a where a.scope_id is not null) then
    v_accepted := array(
      select row(a.item, a.task_id, a.instance_id, a.token_id, a.node_id, a.attempt,
                 case when a.scope_id is null then a.variables else bpm_core.patch_scopes(p_tenant_id, a.scope_id, a.variables) end,
                 a.scope_id)::bpm_core.accepted
        from (select a.* from unnest(p_accepted) a order by a.item offset 0) a);
  end if;
  update bpm_core.workflow_instance w
     set lock_version = w.lock_version + 1, variables = w.variables || p.patch
    from (select p_tenant_id as tenant_id, a.instance_id, bpm_core.jsonb_merge(a.variables order by a.item) as patch
            from unnest(v_accepted) a group by a.instance_id) p
   where w.tenant_id = p.tenant_id and w.id = p.instance_id;
  perform bpm_core.close_events(p_tenant_id, array(select a.token_id from unnest(p_accepted) a));
  perform bpm_core.advance_isolated(array(
    select row(p_tenant_id, a.instance_id, w.workflow_version_id, coalesce(a.scope_id, bpm_core.root_scope()), a.token_id, a.node_id, null, null)::bpm_core.moving
      from (select p_tenant_id as tenant_id, a.* from unnest(p_accepted) a offset 0) a
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = a.tenant_id and w.id = a.instance_id offset 0) w
     order by a.item));
end
$$;
