-- What a $ref that keyword_problem let through points to.
create or replace function bpm_core.schema_target(p_root jsonb, p_ref text)
returns jsonb
language sql immutable parallel safe
as $$ select case when p_ref = '#' then p_root else p_root -> '$defs' -> substr(p_ref, 9) end $$;
