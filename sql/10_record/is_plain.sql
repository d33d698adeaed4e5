-- Variables that need no closer look: an object, small, without numbers of more than a thousand digits (has_huge_number), without texts that begin like a wire form. Inlined into its caller.
-- The size is that of the value itself: concatenated with nothing, since one that comes from a table may arrive compressed.
-- Returns:  boolean. False says only that variables_fault and decode_variables have to look.
create or replace function bpm_core.is_plain(p_variables jsonb)
returns boolean
language sql stable parallel safe
as $$
  select jsonb_typeof(p_variables) = 'object'
         and case when pg_column_size(p_variables || '{}') <= 4000 then true  -- too small to be nested 500 levels
                  else pg_column_size(p_variables || '{}') <= 65536 and not jsonb_path_exists(p_variables, '$.**{501}') end
         and (pg_column_size(p_variables || '{}') <= 1000 or not bpm_core.has_huge_number(p_variables))
         and not jsonb_path_exists(p_variables, '$.* ? (@.type() == "string" && @ starts with "__")')
$$;
