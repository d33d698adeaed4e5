-- Claimed tasks as objects with the columns of claim_tasks.
create or replace function bpm_core.claimed_json(p_claimed bpm_core.claimed_task[])
returns jsonb
language sql stable
as $$ select coalesce(jsonb_agg(to_jsonb(c) - '{slot,available_at,suspended}'::text[]), '[]') from unnest(p_claimed) c $$;
