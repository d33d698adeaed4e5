-- An element of a list by its place, counted from p_first (in FEEL, from 1, also from the end, by -1), or a member of an object by its name.
-- Where there is none: null.
create or replace function bpm_core.index_value(p_value jsonb, p_index jsonb, p_first integer)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_index numeric := case when jsonb_typeof(p_index) = 'number' then p_index::numeric end;
begin
  if jsonb_typeof(p_value) = 'array' and v_index is not null then
    return case
      when v_index <> trunc(v_index) then null
      when abs(v_index) > 1000000 or v_index between p_first - 1 and p_first - p_first or (p_first = 0 and v_index < 0) then
        case when p_first = 0 and v_index = 0 then coalesce(p_value -> 0, 'null') else 'null' end
      when v_index < 0 then coalesce(p_value -> v_index::integer, 'null')
      else coalesce(p_value -> (v_index::integer - p_first), 'null') end;
  elsif jsonb_typeof(p_value) = 'object' and jsonb_typeof(p_index) = 'string' then
    return coalesce(p_value -> (p_index #>> '{}'), 'null');
  end if;
  return case when p_value = 'null' and p_index is not null then p_value end;
end
$$;
