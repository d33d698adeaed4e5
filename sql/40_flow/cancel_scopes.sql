-- Marks open scopes as Cancelled; their tokens are dealt with by the caller.
-- Writes:   scope, history_event.
create or replace function bpm_core.cancel_scopes(p_tenant_id text, p_scopes uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if coalesce(cardinality(p_scopes), 0) = 0 then
    return;
  end if;
  with cancelled as (
    update bpm_core.scope s
       set state = 'Cancelled', live_tokens = 0
      from (select p_tenant_id as tenant_id, k.id from unnest(p_scopes) k(id) offset 0) k
     where s.tenant_id = k.tenant_id and s.id = k.id and s.state = 'Open'
    returning s.workflow_instance_id, s.id, s.host_token_id, s.node_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
  select p_tenant_id, c.workflow_instance_id, bpm_core.now(), 'ScopeCancelled', c.host_token_id, c.node_id, jsonb_build_object('scope', c.id)
    from cancelled c;
end
$$;
