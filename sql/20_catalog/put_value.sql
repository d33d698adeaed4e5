-- Puts a value at a path of names into an object; what is no object on the way becomes one.
create or replace function bpm_core.put_value(p_object jsonb, p_path text[], p_value jsonb)
returns jsonb
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when cardinality(p_path) = 1 then x.object || jsonb_build_object(p_path[1], p_value)
              else x.object || jsonb_build_object(p_path[1], bpm_core.put_value(x.object -> p_path[1], p_path[2:], p_value)) end
    from (select case when jsonb_typeof(p_object) = 'object' then p_object else '{}' end as object) x
$$;
