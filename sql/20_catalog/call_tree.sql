-- The tree of a call with its arguments: those that are operators in other words become the operators; patterns are checked and translated
-- here, once, and for that have to be literals.
-- Returns:  tree, or problem.
create or replace function bpm_core.call_tree(p_name text, p_args jsonb, out tree jsonb, out problem text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pattern text;
begin
  if p_name = 'not' then
    problem := bpm_core.condition_problem(p_args -> 0);
    tree := jsonb_build_object('op', 'not', 'arg', p_args -> 0);
  elsif p_name = 'defined' then
    problem := case when p_args -> 0 ->> 'op' <> 'path' then 'is defined asks about a path' end;
    tree := jsonb_build_object('op', 'defined', 'arg', p_args -> 0);
  elsif p_name = 'itself' then
    tree := p_args -> 0;
  elsif p_name in ('equals', 'is after', 'is before') then
    tree := jsonb_build_object('op', case p_name when 'equals' then 'eq' when 'is after' then 'gt' else 'lt' end, 'left', p_args -> 0, 'right', p_args -> 1);
    problem := bpm_core.operator_problem(tree ->> 'op', p_args -> 0, p_args -> 1, false);
  elsif p_name in ('matches', 'matches whole') then
    select r.pattern, r.problem into v_pattern, problem
      from bpm_core.read_pattern(p_args -> 1, p_args -> 2, p_name = 'matches whole') r;
    tree := jsonb_build_object('op', 'call', 'name', 'matches', 'args', jsonb_build_array(p_args -> 0), 'pattern', v_pattern);
  else
    tree := jsonb_build_object('op', 'call', 'name', p_name, 'args', p_args);
  end if;
end
$$;
