-- The sum, least, greatest or mean of a list of numbers (least and greatest also of texts), or whether all or any of it are true.
create or replace function bpm_core.call_aggregate(p_name text, p_list jsonb)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_name in ('all', 'any') then
    return (select to_jsonb(case when bool_or(v.verdict = (p_name = 'any')) then p_name = 'any' when bool_or(v.verdict is null) then null else p_name = 'all' end)
              from (select case when jsonb_typeof(e) = 'boolean' then e::boolean end as verdict from jsonb_array_elements(p_list) e) v);
  elsif jsonb_array_length(p_list) = 0 then
    return case p_name when 'sum' then '0'::jsonb end;
  elsif not jsonb_path_exists(p_list, 'strict $[*] ? (@.type() != "number" || @ > 1e200 || @ < -1e200)') then
    return (select to_jsonb(trim_scale(case p_name when 'sum' then sum(e::numeric) when 'min' then min(e::numeric) when 'max' then max(e::numeric) else avg(e::numeric) end))
              from jsonb_array_elements(p_list) e);
  elsif p_name in ('min', 'max') and not jsonb_path_exists(p_list, 'strict $[*] ? (@.type() != "string" || @ starts with "__")') then
    return (select to_jsonb(case p_name when 'min' then min(e collate "C") else max(e collate "C") end) from jsonb_array_elements_text(p_list) e);
  end if;
  return null;
end
$$;
