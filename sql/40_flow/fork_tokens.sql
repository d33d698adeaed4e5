-- Ends tokens at a fork and bears one for every flow chosen. The id of the ended one is the group of its children.
-- They inherit its steps: a loop through a fork is a loop.
-- p_chosen: one per arriving token and flow. Returns: moving[], the tokens born, leaving by their flows.
-- Raises:   BP429 more than 10,000 at once: drive_isolated tries half of them; a diagram whose forks multiply without end ends as an incident.
-- Writes:   token, workflow_instance (live_tokens), scope, history_event.
create or replace function bpm_core.fork_tokens(p_arriving bpm_core.moving[], p_chosen bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now     timestamptz := bpm_core.now();
  v_leaving bpm_core.moving[];
begin
  if cardinality(p_arriving) > 10000 then
    perform bpm_core.fail('BP429', format('%s tokens arrive at forks at once.', cardinality(p_arriving)));
  end if;
  with ended as (
    update bpm_core.token t
       set node_id = a.node_id, via_flow_id = a.flow_id, state = 'Completed', version = t.version + 1, updated_at = v_now
      from unnest(p_arriving) a
     where t.tenant_id = a.tenant_id and t.id = a.token_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, to_state)
  select a.tenant_id, a.instance_id, v_now, 'TokenForked', a.token_id, a.node_id, 'Completed'
    from unnest(p_arriving) a;
  with born as materialized (
    select c.tenant_id, c.instance_id, c.version_id, c.scope_id, bpm_core.new_id() as token_id, c.node_id, c.flow_id, c.token_id as group_id, p.steps
      from unnest(p_chosen) c
     cross join lateral (select t.steps from bpm_core.token t where t.tenant_id = c.tenant_id and t.id = c.token_id offset 0) p),
  kept as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, scope_id, node_id, via_flow_id, state, steps, parallel_group_id, updated_at)
    select b.tenant_id, b.token_id, b.instance_id, b.scope_id, b.node_id, b.flow_id, 'Waiting', b.steps, b.group_id, v_now
      from born b),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select b.tenant_id, b.instance_id, v_now, 'TokenBorn', b.token_id, b.node_id, jsonb_build_object('flow', b.flow_id, 'parent', b.group_id)
      from born b),
  counted as (
    update bpm_core.workflow_instance w
       set live_tokens = w.live_tokens + d.more
      from (select b.tenant_id, b.instance_id, count(*)::integer - count(distinct b.group_id)::integer as more
              from born b group by b.tenant_id, b.instance_id) d
     where w.tenant_id = d.tenant_id and w.id = d.instance_id)
  select array_agg(row(b.tenant_id, b.instance_id, b.version_id, b.scope_id, b.token_id, b.node_id, b.flow_id, null)::bpm_core.moving)
    into v_leaving
    from born b;
  if exists (select from unnest(p_arriving) a where a.scope_id <> bpm_core.root_scope()) then
    perform bpm_core.count_in_scopes(v_leaving, p_arriving);
  end if;
  return v_leaving;
end
$$;
