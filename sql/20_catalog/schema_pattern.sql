-- A regular expression of JSON Schema (ECMA-262) as one of PostgreSQL that means the same; understood is what does: literals, escaped signs, \n \r \t,
-- ., [classes] with ranges, \d \D \w \W (ASCII), groups ( ) and (?: ), |, ^, $, * + ? {n} {n,} {n,m} and their lazy forms. Compare with collation C.
-- Returns:  text, which may still be no expression at all (is_pattern); null when there is anything else in it, or it is longer than 500 characters,
--           or its counts multiply to more than 10,000.
create or replace function bpm_core.schema_pattern(p_pattern text)
returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pattern text;
  v_sound   boolean;
begin
  if length(p_pattern) > 500 or p_pattern ~ '^[*+?{]' then
    return null;
  end if;
  select string_agg(case when t.word[1] = '.' then '[^' || chr(10) || chr(13) || chr(8232) || chr(8233) || ']' else t.word[1] end, '' order by t.n),
         bool_and(case
           when left(t.word[1], 1) = '\' then t.word[1] ~ '^\\[].*+?(){}|^$\\/dDwWnrt[-]$'
           when left(t.word[1], 1) = '[' then t.word[1] ~ '^\[\^?(\\[].*+?(){}|^$\\/dwnrt[-]|[^][\\^])(\\[].*+?(){}|^$\\/dwnrt[-]|[^][\\])*\]$'
           when left(t.word[1], 2) = '(?' then t.word[1] = '(?:'
           when left(t.word[1], 1) = '{' then t.word[1] ~ '^\{[0-9]{1,3}(,([0-9]{1,3})?)?\}$'
           else t.word[1] not in (']', '}') end)
         and coalesce(sum(ln(greatest(1, nullif((regexp_match(t.word[1], '([0-9]+)\}$'))[1], '')::numeric))) filter (where left(t.word[1], 1) = '{'), 0) <= ln(10000::numeric)
    into v_pattern, v_sound
    from regexp_matches(p_pattern, '\\.|\[(?:\\.|[^]\\])*\]|\(\?.|\{[^}]*\}|.', 'g') with ordinality t(word, n);
  return case when p_pattern = '' then '' when v_sound then v_pattern end;
end
$$;
