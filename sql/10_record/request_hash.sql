-- Tells one request from another.
-- Returns:  bytea, sha256 over the parts of the request in canonical form.
create or replace function bpm_core.request_hash(variadic p_parts text[])
returns bytea
language sql stable parallel safe
as $$ select sha256(convert_to(to_jsonb(p_parts)::text, 'UTF8')) $$;
