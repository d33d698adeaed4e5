-- The advisory lock that stands for one message key.
-- Returns:  bigint.
create or replace function bpm_core.message_key_hash(p_tenant_id text, p_name text, p_correlation_key text)
returns bigint
language sql immutable parallel safe
as $$ select hashtextextended(p_tenant_id || chr(31) || p_name || chr(31) || p_correlation_key, 20110103) $$;
