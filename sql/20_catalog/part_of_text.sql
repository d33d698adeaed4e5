-- FEEL: the text from a place, counted from 1 or from the end, as long as said. JUEL: from a place counted from 0 up to before another.
-- Returns:  text; null when the places make no sense.
create or replace function bpm_core.part_of_text(p_text text, p_from numeric, p_other jsonb, p_from_0 boolean)
returns text
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_length constant integer := length(p_text);
  v_other  constant numeric := case when jsonb_typeof(p_other) = 'number' then p_other::numeric end;
  v_start  numeric;
begin
  if (p_other is not null and v_other is null) or p_from <> trunc(p_from) or v_other <> trunc(v_other) or abs(p_from) > v_length or v_other > 1000000 then
    return null;
  elsif p_from_0 then
    return case when p_from >= 0 and coalesce(v_other between p_from and v_length, true)
                then substr(p_text, p_from::integer + 1, (coalesce(v_other, v_length) - p_from)::integer) end;
  end if;
  v_start := case when p_from < 0 then v_length + p_from + 1 else p_from end;
  return case when p_from <> 0 and coalesce(v_other, 1) >= 0 then substr(p_text, v_start::integer, coalesce(v_other, v_length)::integer) end;
end
$$;
