-- jsonpath of empty x: missing, null, "", [] and {} are empty; every other value is not. Always decidable.
create or replace function bpm_core.write_emptiness(p_operand jsonb)
returns text
language sql immutable
as $$
  select case
    when p_operand ->> 'op' = 'value' then case when p_operand -> 'value' in ('null', '""') then '(1 == 1)' else '(1 == 0)' end
    else '!' || bpm_core.write_typed(p_operand -> 'path',
      '@.type() == "number" || @.type() == "boolean" || (@.type() == "string" && @ != "") || (@.type() == "array" && @.size() > 0) || (@.type() == "object" && exists(@.*))')
  end
$$;
