-- Ends scopes in which no token is left: what waited beside the host is closed, and the host goes on. It goes on with the fewest steps of the tokens
-- that ended last: if one of them had come to rest, so had the scope.
-- p_ended: the tokens that ended in this hop. Returns: moving[], the hosts, leaving; of compensation handlers what continue_compensations gives.
-- Writes:   scope, token, timer, subscription, history_event; what continue_compensations writes.
create or replace function bpm_core.end_scopes(p_tenant_id text, p_scopes uuid[], p_ended bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_leaving  bpm_core.moving[];
  v_handlers uuid[];
  v_others   integer;
begin
  with ended as (
    update bpm_core.scope s
       set state = 'Completed'
      from (select p_tenant_id as tenant_id, k.id from unnest(p_scopes) k(id) offset 0) k
     where s.tenant_id = k.tenant_id and s.id = k.id and s.state = 'Open' and s.live_tokens = 0
    returning s.tenant_id, s.id, s.workflow_instance_id, s.parent_scope_id, s.node_id, s.host_token_id, s.is_copy),
  host as materialized (
    select e.*, w.workflow_version_id, x.steps
      from ended e
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = e.tenant_id and w.id = e.workflow_instance_id offset 0) w
     cross join lateral (select min(t.steps) as steps
                           from unnest(p_ended) m
                          cross join lateral (select t.steps from bpm_core.token t where t.tenant_id = m.tenant_id and t.id = m.token_id offset 0) t
                          where m.scope_id = e.id) x),
  stepped as (
    update bpm_core.token t
       set steps = h.steps
      from host h
     where t.tenant_id = h.tenant_id and t.id = h.host_token_id and t.steps <> h.steps),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select h.tenant_id, h.workflow_instance_id, v_now, 'ScopeCompleted', h.host_token_id, h.node_id, jsonb_build_object('scope', h.id)
      from host h)
  select array_agg(row(h.tenant_id, h.workflow_instance_id, h.workflow_version_id, coalesce(h.parent_scope_id, bpm_core.root_scope()), h.host_token_id,
                       h.node_id, null, null)::bpm_core.moving order by h.is_copy, h.id),
         array_agg(h.id order by h.id) filter (where h.is_copy)
    into v_leaving, v_handlers
    from host h;
  if v_leaving is null then
    return '{}'::bpm_core.moving[];
  end if;
  perform bpm_core.close_events(p_tenant_id, array(select l.token_id from unnest(v_leaving) l));
  if v_handlers is null then
    return v_leaving;
  end if;
  -- The last ones are throwers, whose handlers ended: there may be more to undo.
  v_others := cardinality(v_leaving) - cardinality(v_handlers);
  return v_leaving[ : v_others] || bpm_core.continue_compensations(v_leaving[v_others + 1 : ], v_handlers);
end
$$;
