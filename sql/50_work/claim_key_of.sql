-- The idempotency key of a claim: one worker's request. Both may be longer together than a key.
create or replace function bpm_core.claim_key_of(p_worker text, p_request_id text)
returns text
language sql stable parallel safe
as $$ select encode(bpm_core.request_hash(p_worker, p_request_id), 'hex') $$;
