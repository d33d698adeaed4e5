-- Tells a repeated answer from another one. What came with it for the record counts too.
-- Returns:  bytea, sha256 over variables, result and record in canonical form.
create or replace function bpm_core.answer_hash(p_variables jsonb, p_result jsonb, p_record jsonb default null)
returns bytea
language sql stable parallel safe
as $$
  select sha256(convert_to(coalesce(p_variables::text, '') || chr(31) || coalesce(p_result::text, '') || coalesce(chr(31) || p_record::text, ''), 'UTF8'))
$$;
