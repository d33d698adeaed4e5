-- Ends everything inside these scopes: live tokens Terminated, what waits on them closed, scopes below Cancelled. The scopes themselves stay open,
-- without a token: their caller ends or cancels them, or puts one in.
-- Writes:   token, scope, workflow_instance (live_tokens), history_event, and what clear_joins and close_waits write.
create or replace function bpm_core.empty_scopes(p_tenant_id text, p_scopes uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_below uuid[] := bpm_core.scopes_below(p_tenant_id, p_scopes);
  v_ended bpm_core.moving[];
begin
  with live as materialized (
    select t.tenant_id, t.id
      from unnest(p_scopes || v_below) k(id)
     cross join lateral (select t.tenant_id, t.id, t.state from bpm_core.token t
                          where t.scope_id = k.id and t.scope_id <> '00000000-0000-0000-0000-000000000000' offset 0) t
     where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Waiting', 'Failed')),
  ended as (
    update bpm_core.token t
       set state = 'Terminated', ready_at = null, version = t.version + 1, updated_at = v_now
      from live l
     where t.tenant_id = l.tenant_id and t.id = l.id
    returning t.workflow_instance_id, t.scope_id, t.id, t.node_id, t.via_flow_id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
    select p_tenant_id, e.workflow_instance_id, v_now, 'TokenTerminated', e.id, e.node_id, 'Terminated'
      from ended e)
  select array_agg(row(p_tenant_id, e.workflow_instance_id, null, e.scope_id, e.id, e.node_id, e.via_flow_id, null)::bpm_core.moving)
    into v_ended
    from ended e;
  perform bpm_core.cancel_scopes(p_tenant_id, v_below);
  if v_ended is null then
    return;
  end if;
  update bpm_core.scope s
     set live_tokens = 0
    from (select p_tenant_id as tenant_id, k.id from unnest(p_scopes) k(id) offset 0) k
   where s.tenant_id = k.tenant_id and s.id = k.id;
  update bpm_core.workflow_instance w
     set live_tokens = w.live_tokens - d.fewer
    from (select e.tenant_id, e.instance_id, count(*)::integer as fewer from unnest(v_ended) e group by e.tenant_id, e.instance_id) d
   where w.tenant_id = d.tenant_id and w.id = d.instance_id;
  perform bpm_core.clear_joins(v_ended);
  perform bpm_core.close_waits(v_ended);
end
$$;
