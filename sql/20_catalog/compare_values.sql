-- Compares two values. Equality: null equals null and differs from everything else; otherwise values of different types are undecidable, and so
-- are lists and objects unless p_deep, and encrypted texts. Ordering needs two numbers, two texts or two times.
-- Returns:  boolean; null: undecidable.
create or replace function bpm_core.compare_values(p_operator text, p_left jsonb, p_right jsonb, p_deep boolean)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_type constant text := jsonb_typeof(p_left);
  v_sign integer;
begin
  if p_left is null or p_right is null then
    return null;
  elsif p_operator in ('eq', 'ne') and (p_left = 'null' or p_right = 'null') then
    return (p_left = p_right) = (p_operator = 'eq');
  elsif v_type <> jsonb_typeof(p_right) then
    return null;
  elsif v_type = 'number' then
    v_sign := case when p_left < p_right then -1 when p_left > p_right then 1 else 0 end;
  elsif v_type = 'string' then
    v_sign := case
      when bpm_core.is_hidden(p_left) or bpm_core.is_hidden(p_right) then null
      when starts_with(p_left #>> '{}', '__') or starts_with(p_right #>> '{}', '__') then bpm_core.compare_times(p_left #>> '{}', p_right #>> '{}')
      when p_left = p_right then 0
      when (p_left #>> '{}') collate "C" < (p_right #>> '{}') collate "C" then -1
      else 1 end;
  elsif p_operator in ('eq', 'ne') and (v_type = 'boolean' or p_deep) then
    return (p_left = p_right) = (p_operator = 'eq');
  end if;
  return case p_operator when 'eq' then v_sign = 0 when 'ne' then v_sign <> 0 when 'lt' then v_sign < 0 when 'le' then v_sign <= 0
                         when 'gt' then v_sign > 0 when 'ge' then v_sign >= 0 end;
end
$$;
