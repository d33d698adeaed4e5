-- Compiles what a rule reads from an event: a path or expression over payload and event.
-- Returns:  tree for evaluate; problem, why it cannot be read.
create or replace function bpm_core.rule_path(p_source text, p_bare_is_text boolean, out tree jsonb, out problem text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_at integer;
begin
  select c.tree, c.problem, c.at into tree, problem, v_at from bpm_core.compile_expression(p_source, p_bare_is_text) c;
  problem := coalesce(problem || format(' (position %s)', v_at), bpm_core.rule_root_problem(tree));
end
$$;
