-- Whether a value is an encrypted text, of which nothing can be said.
create or replace function bpm_core.is_hidden(p_value jsonb)
returns boolean
language sql immutable parallel safe
as $$ select starts_with(p_value #>> '{}', '__encrypted:') $$;
