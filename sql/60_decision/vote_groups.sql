-- The groups, of those that were asked, for which somebody has voted.
-- Returns:  jsonb, an array of names; null: none, or no vote.
create or replace function bpm_core.vote_groups(p_approval bpm_core.approval_record, p_actor text)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return (select to_jsonb(v.groups) from bpm_core.approval_vote v
           where v.tenant_id = p_approval.tenant_id and v.approval_id = p_approval.id and v.actor = p_actor and v.groups <> '{}');
end
$$;
