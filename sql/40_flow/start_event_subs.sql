-- Begins event sub-processes: each in the open scope of its host, with a token at the event sub-process as the host of the new scope and one that leaves
-- the start event. An interrupting one ends everything in the scope around it first, and the other event sub-processes there can no longer begin.
-- p_starts: the host of the scope around, and the start event. Returns: moving[], leaving the start events.
-- Writes:   token, scope, workflow_instance (live_tokens), history_event, and what empty_scopes and close_starts write.
create or replace function bpm_core.start_event_subs(p_starts bpm_core.moving[], p_interrupting boolean)
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
  if coalesce(cardinality(p_starts), 0) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  if p_interrupting then
    perform bpm_core.empty_scopes((p_starts[1]).tenant_id, bpm_core.scopes_hosted(p_starts));
    perform bpm_core.close_starts(p_starts);
  end if;
  with begun as materialized (
    select b.tenant_id, b.instance_id, b.version_id, b.node_id, o.id as around_id, n.scope_node_id as sub_node_id,
           bpm_core.new_id() as host_id, bpm_core.new_id() as scope_id, bpm_core.new_id() as token_id
      from unnest(p_starts) b
     cross join lateral (select n.scope_node_id from bpm_core.workflow_node n
                          where n.tenant_id = b.tenant_id and n.workflow_version_id = b.version_id and n.node_id = b.node_id offset 0) n
     cross join lateral (select s.id, s.state from bpm_core.scope s where s.host_token_id = b.token_id offset 0) o
     where o.state = 'Open'),
  kept as (
    insert into bpm_core.token (tenant_id, id, workflow_instance_id, scope_id, node_id, state, visit, updated_at)
    select b.tenant_id, b.host_id, b.instance_id, b.around_id, b.sub_node_id, 'Waiting'::bpm_core.token_state, 1, v_now from begun b
    union all
    select b.tenant_id, b.token_id, b.instance_id, b.scope_id, b.node_id, 'Waiting', 0, v_now from begun b),
  scoped as (
    insert into bpm_core.scope (tenant_id, id, workflow_instance_id, parent_scope_id, node_id, host_token_id, live_tokens)
    select b.tenant_id, b.scope_id, b.instance_id, b.around_id, b.sub_node_id, b.host_id, 1 from begun b),
  around as (
    update bpm_core.scope s
       set live_tokens = s.live_tokens + d.more
      from (select b.tenant_id, b.around_id, count(*)::integer as more from begun b group by b.tenant_id, b.around_id) d
     where s.tenant_id = d.tenant_id and s.id = d.around_id),
  counted as (
    update bpm_core.workflow_instance w
       set live_tokens = w.live_tokens + d.more
      from (select b.tenant_id, b.instance_id, 2 * count(*)::integer as more from begun b group by b.tenant_id, b.instance_id) d
     where w.tenant_id = d.tenant_id and w.id = d.instance_id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select b.tenant_id, b.instance_id, v_now, 'ScopeOpened'::bpm_core.history_kind, b.host_id, b.sub_node_id,
           jsonb_build_object('scope', b.scope_id, 'start', b.node_id) from begun b
    union all
    select b.tenant_id, b.instance_id, v_now, 'TokenBorn', b.token_id, b.node_id, jsonb_build_object('parent', b.host_id, 'scope', b.scope_id) from begun b)
  select array_agg(row(b.tenant_id, b.instance_id, b.version_id, b.scope_id, b.token_id, b.node_id, null, null)::bpm_core.moving)
    into v_born
    from begun b;
  return coalesce(v_born, '{}');
end
$$;
