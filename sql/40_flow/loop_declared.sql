-- Which variables every item has of its own, besides its element and counter: what its output element names. A path alone always; of a longer expression
-- those names that are no variables yet when the multi-instance begins. Otherwise what one item wrote would be gathered for another.
-- Returns:  jsonb object, all null.
create or replace function bpm_core.loop_declared(p_spec jsonb, p_variables jsonb)
returns jsonb
language sql immutable
as $$
  select case when not p_spec ? 'output' then '{}'::jsonb else (
    select coalesce(jsonb_object_agg(n.name, null::text), '{}')
      from jsonb_array_elements_text(p_spec #> '{output,names}') n(name)
     where p_spec #> '{output,simple}' = 'true' or not p_variables ? n.name) end
$$;
