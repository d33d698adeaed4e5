-- Tells a repeated answer from another one.
-- Returns:  bytea, sha256 over variables and result in canonical form.
create or replace function bpm_core.answer_hash(p_variables jsonb, p_result jsonb)
returns bytea
language sql stable parallel safe
as $$ select sha256(convert_to(coalesce(p_variables::text, '') || chr(31) || coalesce(p_result::text, ''), 'UTF8')) $$;
