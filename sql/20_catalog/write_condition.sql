-- Writes a tree as a jsonpath predicate for strict mode. SQL/JSON logic has three values, so what is undecidable below stays so above,
-- unless the other side decides alone (unknown && false, unknown || true).
-- Returns:  text, without the mode.
create or replace function bpm_core.write_condition(p_tree jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op   text := p_tree ->> 'op';
  v_text text;
begin
  if v_op in ('and', 'or') then
    for v_i in 0 .. jsonb_array_length(p_tree -> 'args') - 1 loop
      v_text := coalesce(v_text || case v_op when 'and' then ' && ' else ' || ' end, '') || bpm_core.write_condition(p_tree -> 'args' -> v_i);
    end loop;
    return '(' || v_text || ')';
  elsif v_op = 'not' then
    return '!(' || bpm_core.write_condition(p_tree -> 'arg') || ')';
  elsif v_op = 'empty' then
    return bpm_core.write_emptiness(p_tree -> 'arg');
  elsif v_op = 'path' then
    return bpm_core.write_equality(p_tree, '{"op": "value", "value": true}');
  elsif v_op = 'eq' then
    return bpm_core.write_equality(p_tree -> 'left', p_tree -> 'right');
  elsif v_op = 'ne' then
    return '!(' || bpm_core.write_equality(p_tree -> 'left', p_tree -> 'right') || ')';
  elsif v_op = 'value' then
    return case when p_tree -> 'value' = 'true' then '(1 == 1)' else '(1 == 0)' end;
  end if;
  return bpm_core.write_ordering(case v_op when 'lt' then '<' when 'le' then '<=' when 'gt' then '>' else '>=' end, p_tree -> 'left', p_tree -> 'right');
end
$$;
