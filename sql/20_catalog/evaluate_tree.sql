-- Evaluates one node of an expression tree. p_locals holds what loops have named; p_budget is the work still allowed, about one unit per
-- node: a loop divides it among its items, so that nested loops end as surely as one.
-- Returns:  jsonb; SQL NULL is undecidable.
create or replace function bpm_core.evaluate_tree(p_tree jsonb, p_variables jsonb, p_locals jsonb, p_budget integer)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op  constant text := p_tree ->> 'op';
  v_arg jsonb;
begin
  if v_op = 'path' then
    return bpm_core.evaluate_path(p_tree -> 'path', case when p_locals ? (p_tree -> 'path' ->> 0) then p_locals else p_variables end);
  elsif v_op = 'value' then
    return coalesce(p_tree -> 'value', 'null');  -- stored trees may have lost their nulls
  elsif v_op in ('eq', 'ne', 'lt', 'le', 'gt', 'ge') then
    return to_jsonb(bpm_core.compare_values(
      v_op, bpm_core.evaluate_tree(p_tree -> 'left', p_variables, p_locals, p_budget), bpm_core.evaluate_tree(p_tree -> 'right', p_variables, p_locals, p_budget),
      p_tree -> 'left' ->> 'op' <> 'path' or p_tree -> 'right' ->> 'op' <> 'path'));
  elsif v_op = 'call' then
    return bpm_core.evaluate_call(p_tree, p_variables, p_locals, p_budget);
  elsif v_op in ('and', 'or', 'if') then
    return bpm_core.evaluate_choice(p_tree, p_variables, p_locals, p_budget);
  elsif v_op in ('some', 'every', 'for', 'filter') then
    return bpm_core.evaluate_loop(p_tree, p_variables, p_locals, p_budget);
  elsif v_op in ('list', 'context') then
    return bpm_core.evaluate_list(p_tree, p_variables, p_locals, p_budget);
  elsif v_op = 'defined' then
    return to_jsonb(bpm_core.path_defined(p_tree -> 'arg' -> 'path', case when p_locals ? (p_tree -> 'arg' -> 'path' ->> 0) then p_locals else p_variables end));
  elsif v_op is null then
    return null;
  end if;
  v_arg := bpm_core.evaluate_tree(p_tree -> 'arg', p_variables, p_locals, p_budget);
  return case v_op
    when 'not' then to_jsonb(not bpm_core.truth(p_tree -> 'arg', v_arg))
    when 'empty' then case when v_arg is not null then to_jsonb(v_arg in ('null', '""', '[]', '{}')) end
    when 'member' then bpm_core.member_value(v_arg, p_tree ->> 'name')
    when 'index' then bpm_core.index_value(v_arg, bpm_core.evaluate_tree(p_tree -> 'index', p_variables, p_locals, p_budget), (p_tree ->> 'first')::integer)
    when 'let' then case when v_arg is not null then
      bpm_core.evaluate_tree(p_tree -> 'body', p_variables, p_locals || jsonb_build_object(p_tree ->> 'var', v_arg), p_budget) end end;
end
$$;
