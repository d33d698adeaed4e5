-- What freezes a payload: kept when the command is written, compared before every attempt.
-- Returns:  bytea, sha256 of the payload's text in UTF-8.
create or replace function bpm_core.payload_hash(p_payload jsonb)
returns bytea
language sql immutable parallel safe
as $$ select sha256(convert_to(p_payload::text, 'UTF8')) $$;
