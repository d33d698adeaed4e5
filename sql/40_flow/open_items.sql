-- Opens a scope for each item, with its own variables and a token that leaves the start inside.
-- Returns:  moving[], the tokens born. Writes: scope, token, workflow_instance (live_tokens), history_event.
create or replace function bpm_core.open_items(p_items bpm_core.loop_item[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now  timestamptz := bpm_core.now();
  v_born bpm_core.moving[];
begin
  if coalesce(cardinality(p_items), 0) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  with item as materialized (
    select (i.host).tenant_id, (i.host).instance_id, (i.host).version_id, (i.host).scope_id as parent_id, (i.host).token_id as host_id,
           (i.host).node_id as host_node_id, (i.host).node_id || ':start' as node_id, i.visit, i.steps, i.index, i.variables,
           bpm_core.new_id() as scope_id, bpm_core.new_id() as token_id
      from unnest(p_items) i),
  scoped as (
    insert into bpm_core.scope (tenant_id, id, workflow_instance_id, parent_scope_id, node_id, host_token_id, variables, live_tokens, mi_index, visit)
    select i.tenant_id, i.scope_id, i.instance_id, nullif(i.parent_id, bpm_core.root_scope()), i.host_node_id, i.host_id, i.variables, 1, i.index,
           i.visit
      from item i),
  kept as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, scope_id, node_id, state, steps, updated_at)
    select i.tenant_id, i.token_id, i.instance_id, i.scope_id, i.node_id, 'Waiting', i.steps, v_now
      from item i),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select i.tenant_id, i.instance_id, v_now, 'TokenBorn', i.token_id, i.node_id,
           jsonb_build_object('parent', i.host_id, 'scope', i.scope_id, 'index', i.index)
      from item i),
  counted as (
    update bpm_core.workflow_instance w
       set live_tokens = w.live_tokens + d.more
      from (select i.tenant_id, i.instance_id, count(*)::integer as more from item i group by i.tenant_id, i.instance_id) d
     where w.tenant_id = d.tenant_id and w.id = d.instance_id)
  select array_agg(row(i.tenant_id, i.instance_id, i.version_id, i.scope_id, i.token_id, i.node_id, null, null)::bpm_core.moving)
    into v_born
    from item i;
  return v_born;
end
$$;
