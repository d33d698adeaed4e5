-- Writes a tree as a jsonpath predicate for strict mode. SQL/JSON logic has three values, so what is undecidable below stays so above,
-- unless the other side decides alone (unknown && false, unknown || true).
-- Returns:  text, without the mode.
create or replace function bpm_core.write_condition(p_tree jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op text := p_tree ->> 'op';
begin
  return case
    when v_op in ('and', 'or') then
      (select '(' || string_agg(bpm_core.write_condition(a.arg), case v_op when 'and' then ' && ' else ' || ' end order by a.ord) || ')'
         from jsonb_array_elements(p_tree -> 'args') with ordinality a (arg, ord))
    when v_op = 'not' then format('!(%s)', bpm_core.write_condition(p_tree -> 'arg'))
    when v_op = 'empty' then bpm_core.write_emptiness(p_tree -> 'arg')
    when v_op = 'eq' then bpm_core.write_equality(p_tree -> 'left', p_tree -> 'right')
    when v_op = 'ne' then format('!(%s)', bpm_core.write_equality(p_tree -> 'left', p_tree -> 'right'))
    when v_op = 'lt' then bpm_core.write_ordering('<', p_tree -> 'left', p_tree -> 'right')
    when v_op = 'le' then bpm_core.write_ordering('<=', p_tree -> 'left', p_tree -> 'right')
    when v_op = 'gt' then bpm_core.write_ordering('>', p_tree -> 'left', p_tree -> 'right')
    when v_op = 'ge' then bpm_core.write_ordering('>=', p_tree -> 'left', p_tree -> 'right')
    when v_op = 'path' then bpm_core.write_equality(p_tree, '{"op": "value", "value": true}')
    when p_tree -> 'value' = 'true' then '(1 == 1)'
    else '(1 == 0)'
  end;
end
$$;
