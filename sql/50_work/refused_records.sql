-- Which of these answers tell of evidence nothing new may refer to, or of a subject that is at another version than they expect?
-- Returns:  integer[], their items.
-- Writes:   subject, where it was not there. Locks: subject, then evidence for share.
create or replace function bpm_core.refused_records(p_tenant_id text, p_answers bpm_core.answer[], p_now timestamptz)
returns integer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_facts  bpm_core.told_fact[] := bpm_core.told_facts(p_answers);
  v_purged integer[];
begin
  perform bpm_core.lock_subjects(p_tenant_id, v_facts, p_now);
  v_purged := array(
    select p_answers[n].item from unnest(bpm_core.lock_evidence(p_tenant_id, array(select a.record -> 'evidence' from unnest(p_answers) a))) n);
  return v_purged || bpm_core.outdated_facts(p_tenant_id, array(select f from unnest(v_facts) f where f.item <> all (v_purged)));
end
$$;
