-- Looks a dotted path up in the variables.
-- Returns:  jsonb; null when missing.
create or replace function bpm_core.path_value(p_variables jsonb, p_path text)
returns jsonb
language sql immutable parallel safe
as $$ select p_variables #> string_to_array(p_path, '.') $$;
