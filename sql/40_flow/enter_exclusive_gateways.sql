-- KIND exclusive gateway: the first flow in document order that is true, the default last.
-- A condition that cannot be decided stops the token with an incident; it is never taken as false (law 6).
create or replace function bpm_core.enter_exclusive_gateways(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_leaving  bpm_core.moving[];
  v_troubles bpm_core.trouble[];
begin
  with choice as materialized (
    select a.tenant_id, a.instance_id, a.version_id, a.scope_id, a.token_id, a.node_id, a.flow_id, a.kind, v.variables,
           c.flow_id as chosen, c.condition_source, c.verdict
      from unnest(p_arriving) a
     cross join lateral bpm_core.token_variables(a.tenant_id, a.instance_id, a.scope_id) v
      left join lateral (
        select f.flow_id, f.condition_source, e.verdict
          from bpm_core.workflow_flow f
         cross join lateral (
           select case when f.condition is not null then jsonb_path_match(v.variables, f.condition, f.condition_constants, true)
                       when f.condition_tree is not null then bpm_core.evaluate_condition(f.condition_tree, v.variables)
                       else true end) e(verdict)
         where f.tenant_id = a.tenant_id and f.workflow_version_id = a.version_id and f.source_id = a.node_id
           and e.verdict is not false
         order by f.ord
         limit 1) c on true),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select c.tenant_id, c.instance_id, bpm_core.now(), 'FlowChosen', c.token_id, c.node_id, jsonb_build_object('flow', c.chosen)
      from choice c
     where c.verdict)
  select coalesce(array_agg(row(c.tenant_id, c.instance_id, c.version_id, c.scope_id, c.token_id, c.node_id, c.chosen, null)::bpm_core.moving)
                    filter (where c.verdict), '{}'),
         array_agg(bpm_core.gateway_trouble(
             row(c.tenant_id, c.instance_id, c.version_id, c.scope_id, c.token_id, c.node_id, c.flow_id, c.kind)::bpm_core.moving,
             c.chosen, c.condition_source, c.variables))
           filter (where c.verdict is null)
    into v_leaving, v_troubles
    from choice c;
  if v_troubles is not null then
    perform bpm_core.open_incidents(v_troubles);
  end if;
  return v_leaving;
end
$$;
