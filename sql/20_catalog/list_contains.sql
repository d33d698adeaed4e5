-- Whether a list holds a value: == asked of each element. So a list without the value, but with something that cannot be compared with it,
-- is undecidable.
create or replace function bpm_core.list_contains(p_list jsonb, p_value jsonb)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_list @> jsonb_build_array(p_value) and jsonb_typeof(p_value) not in ('array', 'object') then
    return true;
  end if;
  return (select case when bool_or(e.same) then true when bool_or(e.same is null) then null else false end
            from (select bpm_core.compare_values('eq', i, p_value, true) as same from jsonb_array_elements(p_list) i) e);
end
$$;
