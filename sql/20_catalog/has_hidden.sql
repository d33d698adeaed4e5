-- Is there an encrypted text in a value, however deep?
create or replace function bpm_core.has_hidden(p_value jsonb)
returns boolean
language sql immutable parallel safe
as $$ select jsonb_path_exists(p_value, 'strict $.** ? (@.type() == "string" && @ starts with "__encrypted:")') $$;
