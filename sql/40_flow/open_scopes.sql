-- Opens a scope inside the activity each host rests at, and begins it with a token at its start event. Of several (the body of a process has one for
-- each start event of the process) it is the one that belongs to the flow the host came over. A host that could not be armed opens nothing.
-- What input mappings give is declared in the scope; one that cannot be evaluated stops the host.
-- Returns:  moving[], the tokens born, leaving the start events. Writes: scope, token, workflow_instance (live_tokens), history_event; incident.
create or replace function bpm_core.open_scopes(p_hosts bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_born     bpm_core.moving[];
  v_troubles bpm_core.trouble[];
begin
  with host as materialized (
    select h.*, t.steps, m.mapped, m.problem, m.detail
      from unnest(p_hosts) h
     cross join lateral (select t.steps, t.state from bpm_core.token t where t.tenant_id = h.tenant_id and t.id = h.token_id offset 0) t
     cross join lateral (select n.expressions -> 'inputs' as inputs from bpm_core.workflow_node n
                          where n.tenant_id = h.tenant_id and n.workflow_version_id = h.version_id and n.node_id = h.node_id offset 0) n
      left join lateral (select m.*
                           from bpm_core.token_variables(h.tenant_id, h.instance_id, h.scope_id) v
                          cross join lateral bpm_core.map_values(n.inputs, v.variables) m
                          where n.inputs is not null offset 0) m on true
     where t.state = 'Waiting'),
  opened as materialized (
    select h.tenant_id, h.instance_id, h.version_id, h.scope_id as parent_id, h.token_id as host_id, h.node_id as host_node_id,
           bpm_core.new_id() as scope_id, bpm_core.new_id() as token_id, s.node_id, h.steps, h.mapped
      from host h
     cross join lateral (
       select n.node_id
         from bpm_core.workflow_node n
        where n.scope_node_id = h.node_id and n.workflow_version_id = h.version_id and n.tenant_id = h.tenant_id and n.kind = 'StartEvent'
        order by n.node_id || '-flow' is distinct from h.flow_id
        limit 1) s
     where h.problem is null),
  scoped as (
    insert into bpm_core.scope (tenant_id, id, workflow_instance_id, parent_scope_id, node_id, host_token_id, live_tokens, variables)
    select o.tenant_id, o.scope_id, o.instance_id, nullif(o.parent_id, bpm_core.root_scope()), o.host_node_id, o.host_id, 1, coalesce(o.mapped, '{}')
      from opened o),
  kept as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, scope_id, node_id, state, steps, updated_at)
    select o.tenant_id, o.token_id, o.instance_id, o.scope_id, o.node_id, 'Waiting', o.steps, v_now
      from opened o),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select o.tenant_id, o.instance_id, v_now, 'ScopeOpened'::bpm_core.history_kind, o.host_id, o.host_node_id, jsonb_build_object('scope', o.scope_id)
      from opened o
    union all
    select o.tenant_id, o.instance_id, v_now, 'TokenBorn', o.token_id, o.node_id, jsonb_build_object('parent', o.host_id, 'scope', o.scope_id)
      from opened o),
  counted as (
    update bpm_core.workflow_instance w
       set live_tokens = w.live_tokens + d.more
      from (select o.tenant_id, o.instance_id, count(*)::integer as more from opened o group by o.tenant_id, o.instance_id) d
     where w.tenant_id = d.tenant_id and w.id = d.instance_id)
  select (select array_agg(row(o.tenant_id, o.instance_id, o.version_id, o.scope_id, o.token_id, o.node_id, null, null)::bpm_core.moving) from opened o),
         (select array_agg(bpm_core.task_trouble(row(h.tenant_id, h.instance_id, h.version_id, h.scope_id, h.token_id, h.node_id, h.flow_id, h.kind)::bpm_core.moving,
                                                 h.problem, h.detail)) from host h where h.problem is not null)
    into v_born, v_troubles;
  if v_troubles is not null then
    perform bpm_core.close_waits(array(select x.token from unnest(v_troubles) x));
    perform bpm_core.open_incidents(v_troubles);
  end if;
  return coalesce(v_born, '{}');
end
$$;
