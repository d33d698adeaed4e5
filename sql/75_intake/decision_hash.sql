-- Tells a repeated decision from another one.
-- Returns:  bytea, sha256 over its actions in canonical form.
create or replace function bpm_core.decision_hash(p_actions jsonb)
returns bytea
language sql immutable parallel safe
as $$ select sha256(convert_to(p_actions::text, 'UTF8')) $$;
