-- Claimed tasks as objects with the columns of claim_tasks. In PL/pgSQL because a SQL function would be planned anew with every claim.
create or replace function bpm_core.claimed_json(p_claimed bpm_core.claimed_task[])
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return (select coalesce(jsonb_agg(to_jsonb(c) - '{slot,available_at,suspended}'::text[]), '[]') from unnest(p_claimed) c);
end
$$;
