-- Goes on with parked tokens: claims each by compare-and-set (Ready, version), then drives it into the node it stands before.
-- The instances are locked. Returns: integer, tokens resumed. Writes: token, history_event, and what the nodes write.
-- Source:   kernel design, 4, token claim.
create or replace function bpm_core.resume_tokens(p_tenant_id text, p_tokens uuid[])
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now      timestamptz := bpm_core.now();
  v_arriving bpm_core.moving[];
begin
  with parked as materialized (
    select t.tenant_id, t.id, t.version
      from unnest(p_tokens) k(id)
     cross join lateral (select t.tenant_id, t.id, t.version, t.state, t.ready_at from bpm_core.token t
                          where t.tenant_id = p_tenant_id and t.id = k.id offset 0) t
     where t.state = 'Ready' and t.ready_at < 'infinity'),
  claimed as (
    -- The version stands for the state seen: every move of a token raises it.
    update bpm_core.token t
       set state = 'Executing', ready_at = null, version = t.version + 1, updated_at = v_now
      from parked p
     where t.tenant_id = p.tenant_id and t.id = p.id and t.version = p.version
    returning t.tenant_id, t.workflow_instance_id, t.scope_id, t.id, t.node_id, t.via_flow_id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state)
    select p_tenant_id, c.workflow_instance_id, v_now, 'TokenResumed', c.id, c.node_id, 'Ready', 'Executing'
      from claimed c)
  select array_agg(row(p_tenant_id, c.workflow_instance_id, w.workflow_version_id, c.scope_id, c.id, c.node_id, c.via_flow_id, n.kind)::bpm_core.moving)
    into v_arriving
    from claimed c
   cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                        where w.tenant_id = c.tenant_id and w.id = c.workflow_instance_id offset 0) w
   cross join lateral (select n.kind from bpm_core.workflow_node n
                        where n.tenant_id = c.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = c.node_id offset 0) n;
  perform bpm_core.drive_isolated(v_arriving);
  return coalesce(cardinality(v_arriving), 0);
end
$$;
