-- Compiles the conditions of all flows, each distinct text once.
-- Returns:  draft_flow[], in the order given, with condition or condition_tree or problem filled in.
create or replace function bpm_core.compile_conditions(p_flows bpm_core.draft_flow[])
returns bpm_core.draft_flow[]
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with text as materialized (select distinct f.condition_source as source, f.language from unnest(p_flows) f where f.condition_source is not null),
  compiled as materialized (
    select t.source, t.language, c.condition, c.tree, c.problem, c.bare from text t cross join lateral bpm_core.compile_condition(t.source, t.language) c
  )
  select coalesce(array_agg(row(
           f.pos, f.process_pos, f.scope_pos, f.flow_id, f.name, f.source_ref, f.target_ref, f.source_id, f.target_id, f.is_default,
           f.condition_source, case when c.bare then coalesce(f.language, 'bare') end, c.condition, c.problem, f.ord, c.tree)::bpm_core.draft_flow order by f.pos), '{}')
    from unnest(p_flows) f
    left join compiled c on c.source = f.condition_source and c.language is not distinct from f.language
$$;
