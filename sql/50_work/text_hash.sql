-- The answer_hash of variables whose text is there already, with nothing for the record.
-- Returns:  bytea.
create or replace function bpm_core.text_hash(p_text text, p_result jsonb)
returns bytea
language sql stable parallel safe
as $$
  select sha256(convert_to(p_text || chr(31) || coalesce(p_result::text, ''), 'UTF8'))
$$;
