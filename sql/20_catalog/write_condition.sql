-- Writes a tree as a jsonpath predicate for strict mode. SQL/JSON logic has three values, so what is undecidable below stays so above,
-- unless the other side decides alone (unknown && false, unknown || true). A comparison behind an encrypted text is undecidable.
-- Returns:  text, without the mode.
create or replace function bpm_core.write_condition(p_tree jsonb)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op     text := p_tree ->> 'op';
  v_text   text;
  v_hidden text := bpm_core.write_hidden(p_tree);
begin
  if v_op in ('and', 'or') then
    for v_i in 0 .. jsonb_array_length(p_tree -> 'args') - 1 loop
      v_text := coalesce(v_text || case v_op when 'and' then ' && ' else ' || ' end, '') || bpm_core.write_condition(p_tree -> 'args' -> v_i);
    end loop;
    return '(' || v_text || ')';
  elsif v_op = 'not' then
    return '!(' || bpm_core.write_condition(p_tree -> 'arg') || ')';
  end if;
  v_text := case v_op
    when 'empty' then bpm_core.write_emptiness(p_tree -> 'arg')
    when 'defined' then bpm_core.write_typed(p_tree -> 'arg' -> 'path', '')
    when 'path' then bpm_core.write_equality(p_tree, '{"op": "value", "value": true}')
    when 'eq' then bpm_core.write_equality(p_tree -> 'left', p_tree -> 'right')
    when 'ne' then '!(' || bpm_core.write_equality(p_tree -> 'left', p_tree -> 'right') || ')'
    when 'value' then case when p_tree -> 'value' = 'true' then '(1 == 1)' else '(1 == 0)' end
    else bpm_core.write_ordering(case v_op when 'lt' then '<' when 'le' then '<=' when 'gt' then '>' else '>=' end, p_tree -> 'left', p_tree -> 'right')
  end;
  return case when v_hidden is null then v_text else format('((!(%1$s) && %2$s) || ((%1$s) && 1 == "1"))', v_hidden, v_text) end;
end
$$;
