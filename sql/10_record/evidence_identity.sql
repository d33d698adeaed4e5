-- Tells one piece of evidence from another: the hash of its content and where it lies.
-- Returns:  bytea, a sha256.
create or replace function bpm_core.evidence_identity(p_sha256 bytea, p_object_key text)
returns bytea
language sql immutable parallel safe
as $$ select sha256(p_sha256 || convert_to(p_object_key, 'UTF8')) $$;
