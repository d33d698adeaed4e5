-- Where do leaving tokens arrive? One look-up per token: the flow carries the kind of its target.
-- Returns:  moving[], arriving; a token whose flow_id is null follows its node's only flow.
create or replace function bpm_core.follow_flows(p_leaving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return array(
    select row(l.tenant_id, l.instance_id, l.version_id, l.scope_id, l.token_id, f.target_id, f.flow_id, f.target_kind)::bpm_core.moving
      from unnest(p_leaving) l
     cross join lateral (
       -- By the flow or by the node, never by both in one: a fork of thousands would read all its flows for each of them.
       select f.target_id, f.flow_id, f.target_kind
         from bpm_core.workflow_flow f
        where l.flow_id is not null and f.flow_id = l.flow_id and f.workflow_version_id = l.version_id and f.tenant_id = l.tenant_id
       union all
       select f.target_id, f.flow_id, f.target_kind
         from bpm_core.workflow_flow f
        where l.flow_id is null and f.tenant_id = l.tenant_id and f.workflow_version_id = l.version_id and f.source_id = l.node_id
       offset 0) f);
end
$$;
