-- Puts a new token beside each host, at the node named, for events that do not interrupt.
-- Returns:  moving[], the new tokens, leaving that node. Writes: token, workflow_instance (live_tokens), history_event.
create or replace function bpm_core.bear_tokens(p_beside bpm_core.moving[])
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
  if coalesce(cardinality(p_beside), 0) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  with born as materialized (
    select b.tenant_id, b.instance_id, b.version_id, b.scope_id, bpm_core.new_id() as token_id, b.node_id, b.token_id as host_id
      from unnest(p_beside) b),
  kept as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, scope_id, node_id, state, updated_at)
    select b.tenant_id, b.token_id, b.instance_id, b.scope_id, b.node_id, 'Waiting', v_now
      from born b),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select b.tenant_id, b.instance_id, v_now, 'TokenBorn', b.token_id, b.node_id, jsonb_build_object('parent', b.host_id)
      from born b),
  counted as (
    update bpm_core.workflow_instance w
       set live_tokens = w.live_tokens + d.more
      from (select b.tenant_id, b.instance_id, count(*)::integer as more from born b group by b.tenant_id, b.instance_id) d
     where w.tenant_id = d.tenant_id and w.id = d.instance_id)
  select array_agg(row(b.tenant_id, b.instance_id, b.version_id, b.scope_id, b.token_id, b.node_id, null, null)::bpm_core.moving)
    into v_born
    from born b;
  if exists (select from unnest(v_born) b where b.scope_id <> bpm_core.root_scope()) then
    perform bpm_core.count_in_scopes(v_born, '{}');
  end if;
  return v_born;
end
$$;
