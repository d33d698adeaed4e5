-- Has this person voted on this approval?
create or replace function bpm_core.has_voted_on(p_approval bpm_core.approval_record, p_actor text)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return exists (
    select from bpm_core.approval_vote v
     where v.tenant_id = p_approval.tenant_id and v.approval_id = p_approval.id and v.actor = p_actor);
end
$$;
