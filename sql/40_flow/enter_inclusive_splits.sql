-- KIND inclusive split: the token ends, one is born for every flow that is true (one without a condition always is); the default only when none is.
-- A condition that cannot be decided, or no flow at all, stops the token with an incident; then none of the flows is taken (law 6).
-- Returns:  moving[], the tokens born. Raises: BP429, as fork_tokens. Writes: as fork_tokens, incident.
create or replace function bpm_core.enter_inclusive_splits(p_arriving bpm_core.moving[])
returns bpm_core.moving[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_splitting bpm_core.moving[];
  v_chosen    bpm_core.moving[];
  v_troubles  bpm_core.trouble[];
begin
  with choice as materialized (
    select a::bpm_core.moving as token, v.variables, c.unsure, c.source, coalesce(c.taken, c.fallback) as flows
      from unnest(p_arriving) a
     cross join lateral bpm_core.token_variables(a.tenant_id, a.instance_id, a.scope_id) v
     cross join lateral (
       select array_agg(f.flow_id order by f.ord) filter (where e.verdict and not f.is_default) as taken,
              array_agg(f.flow_id) filter (where f.is_default) as fallback,
              (array_agg(f.flow_id order by f.ord) filter (where e.verdict is null))[1] as unsure,
              (array_agg(f.condition_source order by f.ord) filter (where e.verdict is null))[1] as source
         from bpm_core.workflow_flow f
        cross join lateral (
          select case when f.condition is not null then jsonb_path_match(v.variables, f.condition, f.condition_constants, true)
                      when f.condition_tree is not null then bpm_core.evaluate_condition(f.condition_tree, v.variables)
                      else true end) e(verdict)
        where f.tenant_id = a.tenant_id and f.workflow_version_id = a.version_id and f.source_id = a.node_id) c)
  select array_agg(c.token) filter (where c.unsure is null and c.flows is not null),
         array_agg(bpm_core.gateway_trouble(c.token, c.unsure, c.source, c.variables)) filter (where c.unsure is not null or c.flows is null),
         array(select row((s.token).tenant_id, (s.token).instance_id, (s.token).version_id, (s.token).scope_id, (s.token).token_id, (s.token).node_id,
                          f.flow_id, null)::bpm_core.moving
                 from choice s
                cross join lateral unnest(s.flows) f(flow_id)
                where s.unsure is null)
    into v_splitting, v_troubles, v_chosen
    from choice c;
  if v_troubles is not null then
    perform bpm_core.open_incidents(v_troubles);
  end if;
  if v_splitting is null then
    return '{}'::bpm_core.moving[];
  end if;
  return bpm_core.fork_tokens(v_splitting, v_chosen);
end
$$;
