-- Variables that need no closer look: an object, small, without texts that begin like a wire form. Inlined into its caller.
-- Returns:  boolean. False says only that variables_fault and decode_variables have to look.
create or replace function bpm_core.is_plain(p_variables jsonb)
returns boolean
language sql stable parallel safe
as $$
  select jsonb_typeof(p_variables) = 'object' and pg_column_size(p_variables) <= 65536
         and not jsonb_path_exists(p_variables, '$.* ? (@.type() == "string" && @ starts with "__")')
$$;
