-- Compiles the text of a condition. Nothing of it reaches SQL: what jsonpath can say is written out as a jsonpath made of quoted keys and
-- literals, which is fast; anything beyond it stays a tree for evaluate_condition.
-- Returns:  condition (strict jsonpath) or tree, or problem with its position; bare: the text had no ${…} and no =.
create or replace function bpm_core.compile_condition(p_source text, p_language text, out condition jsonpath, out tree jsonb, out problem text, out bare boolean)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tree jsonb;
  v_at   integer;
begin
  select r.tree, r.problem, r.at, r.bare into v_tree, problem, v_at, bare from bpm_core.read_expression(p_source, p_language) r;
  if problem is null and bpm_core.condition_problem(v_tree) is not null then
    problem := bpm_core.condition_problem(v_tree);
    v_at := 1;
  end if;
  if problem is not null then
    problem := format('%s (position %s)', problem, v_at);
  elsif bpm_core.is_plain_condition(v_tree) then
    condition := ('strict ' || bpm_core.write_condition(v_tree))::jsonpath;
  else
    tree := bpm_core.timed_tree(v_tree);
  end if;
end
$$;
