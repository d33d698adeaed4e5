-- Functions of texts. A text that is none is undecidable. Matching is done over at most 10,000 characters; a text made may have a million.
create or replace function bpm_core.call_text(p_name text, p_args jsonb[], p_pattern text)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_texts  constant boolean := jsonb_typeof(p_args[1]) = 'string' and coalesce(jsonb_typeof(p_args[2]) = 'string', true);
  v_a      constant text := p_args[1] #>> '{}';
  v_b      constant text := p_args[2] #>> '{}';
begin
  if p_name = 'string' then
    return case when jsonb_typeof(p_args[1]) in ('string', 'number', 'boolean') then to_jsonb(v_a) end;
  elsif p_name = 'template' then
    return case when not exists (select from unnest(p_args) a where jsonb_typeof(a) not in ('string', 'number', 'boolean'))
      then to_jsonb((select string_agg(a #>> '{}', '' order by n) from unnest(p_args) with ordinality x(a, n))) end;
  elsif p_name like 'substring%' and jsonb_typeof(p_args[1]) = 'string' and jsonb_typeof(p_args[2]) = 'number' then
    return to_jsonb(bpm_core.part_of_text(v_a, p_args[2]::numeric, p_args[3], p_name = 'substring from 0'));
  elsif p_name = 'equals ignore case' then
    return case when v_texts then to_jsonb(lower(v_a) = lower(v_b)) when p_args[1] = 'null' or p_args[2] = 'null' then to_jsonb(p_args[1] = p_args[2]) end;
  elsif not v_texts or length(v_a) + coalesce(length(v_b), 0) > 1000000 then
    return null;
  elsif p_pattern is not null then
    return case when length(v_a) <= 10000 then to_jsonb(v_a ~ p_pattern) end;
  elsif p_name = 'number' then
    return case when v_a ~ '^\s*[+-]?(\d{1,100}(\.\d{0,100})?|\.\d{1,100})([eE][+-]?\d{1,2})?\s*$' then to_jsonb(v_a::numeric) end;
  end if;
  return case p_name
    when 'plus' then to_jsonb(v_a || v_b)
    when 'contains' then to_jsonb(position(v_b in v_a) > 0) when 'holds' then to_jsonb(position(v_b in v_a) > 0)
    when 'starts with' then to_jsonb(starts_with(v_a, v_b)) when 'ends with' then to_jsonb(right(v_a, length(v_b)) = v_b or v_b = '')
    when 'length' then to_jsonb(length(v_a)) when 'trim' then to_jsonb(btrim(v_a, E' \t\r\n'))
    when 'upper case' then to_jsonb(upper(v_a)) when 'lower case' then to_jsonb(lower(v_a))
    when 'substring before' then to_jsonb(case when position(v_b in v_a) > 0 then left(v_a, position(v_b in v_a) - 1) else '' end)
    when 'substring after' then to_jsonb(case when position(v_b in v_a) > 0 then substr(v_a, position(v_b in v_a) + length(v_b)) else '' end) end;
end
$$;
