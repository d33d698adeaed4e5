-- Functions of times, and arithmetic with them. Undecidable beyond the years 1 to 9999.
create or replace function bpm_core.call_time(p_name text, p_args jsonb[])
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_a     constant text := p_args[1] #>> '{}';
  v_b     constant text := p_args[2] #>> '{}';
  v_count constant numeric := case when jsonb_typeof(p_args[2]) = 'number' then p_args[2]::numeric end;
begin
  if p_name = 'literal time' then
    return p_args[1];
  elsif p_name = 'string' then
    return to_jsonb(regexp_replace(v_a, '^__[a-z]+:', ''));
  elsif p_name = 'date' and cardinality(p_args) = 3 then
    return case when v_a ~ '^\d{1,4}$' and v_b ~ '^\d\d?$' and p_args[3] #>> '{}' ~ '^\d\d?$'
      then bpm_core.time_value(format('%s-%s-%s', lpad(v_a, 4, '0'), lpad(v_b, 2, '0'), lpad(p_args[3] #>> '{}', 2, '0')), 'date') end;
  elsif p_name = 'date and time' and cardinality(p_args) = 2 then
    return case when bpm_core.time_value(v_a, 'date') is not null and bpm_core.time_value(v_b, 'time') is not null
      then bpm_core.time_value(substr(bpm_core.time_value(v_a, 'date') #>> '{}', 8) || 'T' || substr(bpm_core.time_value(v_b, 'time') #>> '{}', 8) || 'Z', 'instant') end;
  elsif p_name in ('date', 'time', 'date and time', 'duration') then
    return case when jsonb_typeof(p_args[1]) = 'string' then bpm_core.time_value(v_a, case p_name when 'date and time' then 'instant' else p_name end) end;
  elsif p_name ~ '^(plus|minus) ' then
    return case when v_count = trunc(v_count) and abs(v_count) < 1000000 then bpm_core.shift_time(
      split_part(p_name, ' ', 1), v_a,
      '__duration:' || case when p_name ~ '(hours|minutes|seconds)$' then 'PT' else 'P' end || v_count || upper(substr(split_part(p_name, ' ', 2), 1, 1))) end;
  elsif v_count is not null and p_name in ('multiply', 'divide') then
    return bpm_core.scale_duration(v_a, case p_name when 'multiply' then v_count when 'divide' then 1 / nullif(v_count, 0) end);
  elsif p_name = 'negate' then
    return bpm_core.scale_duration(v_a, -1);
  elsif p_name = 'multiply' and jsonb_typeof(p_args[1]) = 'number' then
    return bpm_core.scale_duration(v_b, p_args[1]::numeric);
  elsif p_name in ('add', 'plus', 'subtract') and jsonb_typeof(p_args[1]) = 'string' and jsonb_typeof(p_args[2]) = 'string' then
    return bpm_core.shift_time(case p_name when 'subtract' then 'minus' else 'plus' end, v_a, v_b);
  end if;
  return null;
end
$$;
