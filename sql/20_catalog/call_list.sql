-- Functions of lists and objects. Places in lists count from 1; only get, the method of JUEL, counts from 0.
create or replace function bpm_core.call_list(p_name text, p_args jsonb[])
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_type constant text := jsonb_typeof(p_args[1]);
  v_from integer;  -- a place, or a number of elements
begin
  if p_name = 'in' then
    return case when jsonb_typeof(p_args[2]) = 'array' then to_jsonb(bpm_core.list_contains(p_args[2], p_args[1]))
                else to_jsonb(bpm_core.compare_values('eq', p_args[1], p_args[2], true)) end;
  elsif p_name = 'or else' then
    return case when p_args[1] = 'null' then p_args[2] else p_args[1] end;
  elsif p_name in ('get', 'get or default', 'contains key') then
    return case
      when v_type = 'array' and p_name = 'get' then bpm_core.index_value(p_args[1], p_args[2], 0)
      when v_type = 'object' and jsonb_typeof(p_args[2]) = 'string' then case p_name
        when 'contains key' then to_jsonb(p_args[1] ? (p_args[2] #>> '{}')) else coalesce(p_args[1] -> (p_args[2] #>> '{}'), p_args[3], 'null') end end;
  elsif p_name in ('count', 'is empty') then
    v_from := case v_type when 'array' then jsonb_array_length(p_args[1]) when 'object' then (select count(*)::integer from jsonb_object_keys(p_args[1]))
                          when 'string' then case p_name when 'is empty' then length(p_args[1] #>> '{}') end end;
    return case p_name when 'count' then to_jsonb(v_from) else to_jsonb(v_from = 0) end;
  elsif p_name = 'range' then
    return case when bpm_core.is_range(p_args[1], p_args[2]) then
      coalesce((select jsonb_agg(i) from generate_series(p_args[1]::integer, p_args[2]::integer) i), '[]') end;
  elsif v_type is distinct from 'array' then
    return null;
  elsif p_name = 'sublist' then
    v_from := case when jsonb_typeof(p_args[2]) = 'number' and abs(p_args[2]::numeric) <= jsonb_array_length(p_args[1]) then p_args[2]::numeric::integer end;
    v_from := case when v_from < 0 then jsonb_array_length(p_args[1]) + v_from + 1 when v_from > 0 then v_from end;
    return case when v_from is not null and coalesce(jsonb_typeof(p_args[3]) = 'number' and p_args[3]::numeric between 0 and 1000000, true) then
      coalesce((select jsonb_agg(e order by n) from jsonb_array_elements(p_args[1]) with ordinality l(e, n)
                 where n >= v_from and (p_args[3] is null or n < v_from + p_args[3]::numeric)), '[]') end;
  end if;
  return case p_name
    when 'list contains' then to_jsonb(bpm_core.list_contains(p_args[1], p_args[2])) when 'holds' then to_jsonb(bpm_core.list_contains(p_args[1], p_args[2]))
    when 'append' then p_args[1] || to_jsonb(p_args[2:])
    when 'concatenate' then case when not exists (select from unnest(p_args) a where jsonb_typeof(a) <> 'array')
      then (select coalesce(jsonb_agg(e order by n, m), '[]') from unnest(p_args) with ordinality a(l, n) cross join lateral jsonb_array_elements(a.l) with ordinality x(e, m)) end
    when 'reverse' then (select coalesce(jsonb_agg(e order by n desc), '[]') from jsonb_array_elements(p_args[1]) with ordinality l(e, n))
    when 'distinct values' then (select coalesce(jsonb_agg(d.e order by d.n), '[]') from (
      select e, min(n) as n from jsonb_array_elements(p_args[1]) with ordinality l(e, n) group by e) d)
    when 'index of' then (select coalesce(jsonb_agg(n order by n), '[]') from jsonb_array_elements(p_args[1]) with ordinality l(e, n) where e = p_args[2])
    when 'string join' then case when not jsonb_path_exists(p_args[1], '$[*] ? (@.type() != "string")') and coalesce(jsonb_typeof(p_args[2]) = 'string', true)
      then to_jsonb(coalesce((select string_agg(e, coalesce(p_args[2] #>> '{}', '') order by n) from jsonb_array_elements_text(p_args[1]) with ordinality l(e, n)), '')) end
  end;
end
$$;
