-- Can this be the code of a definition?
create or replace function bpm_core.is_code(p_code text)
returns boolean
language sql immutable parallel safe
as $$ select coalesce(length(btrim(p_code)) between 1 and 200, false) $$;
