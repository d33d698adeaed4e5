-- A call: its arguments first, then the function. An argument that is undecidable makes the call so; inside loops an argument may not be
-- larger than the share of work allows.
create or replace function bpm_core.evaluate_call(p_tree jsonb, p_variables jsonb, p_locals jsonb, p_budget integer)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_name  constant text := p_tree ->> 'name';
  v_count constant integer := jsonb_array_length(p_tree -> 'args');
  v_args  jsonb[] := '{}'::jsonb[];
  v_value jsonb;
begin
  for v_i in 0 .. v_count - 1 loop
    v_value := bpm_core.evaluate_tree(p_tree -> 'args' -> v_i, p_variables, p_locals, p_budget);
    if v_value is null or bpm_core.is_hidden(v_value) or (p_budget < 200000 and pg_column_size(v_value) > p_budget * 256) then
      return null;
    end if;
    v_args := v_args || v_value;
  end loop;
  if v_name in ('now', 'today') then
    return case v_name when 'now' then p_locals -> 'now()' else bpm_core.call_time('date', array[p_locals -> 'now()']) end;
  elsif v_name in ('in', 'list contains', 'count', 'is empty', 'append', 'concatenate', 'reverse', 'distinct values', 'index of', 'sublist', 'get', 'or else',
                   'contains key', 'get or default', 'string join', 'range') or (v_name = 'holds' and jsonb_typeof(v_args[1]) = 'array') then
    return bpm_core.call_list(v_name, v_args);
  elsif v_name in ('sum', 'min', 'max', 'mean', 'all', 'any') then
    return bpm_core.call_aggregate(v_name, case when v_count = 1 and jsonb_typeof(v_args[1]) = 'array' then v_args[1] else to_jsonb(v_args) end);
  elsif v_name in ('date', 'time', 'date and time', 'duration', 'literal time') or v_name ~ '^(plus|minus) '
        or starts_with(v_args[1] #>> '{}', '__') or starts_with(v_args[2] #>> '{}', '__') then
    return bpm_core.call_time(v_name, v_args);
  elsif jsonb_typeof(v_args[1]) = 'number' and v_name not in ('string', 'template') then
    return bpm_core.call_number(v_name, v_args);
  end if;
  return bpm_core.call_text(v_name, v_args, p_tree ->> 'pattern');
end
$$;
