-- A key as one part of a JSON pointer; long ones are cut.
create or replace function bpm_core.pointer_part(p_key text)
returns text
language sql immutable parallel safe
as $$ select replace(replace(left(p_key, 200), '~', '~0'), '/', '~1') $$;
