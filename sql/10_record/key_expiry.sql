-- Until when an idempotency key entered now is kept.
-- Returns:  timestamptz.
create or replace function bpm_core.key_expiry(p_now timestamptz)
returns timestamptz
language sql stable
as $$ select p_now + make_interval(days => (bpm_core.setting_value('engine.idempotency_key_days', '90'))::integer) $$;
