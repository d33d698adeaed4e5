-- What is true of a subject, and how we know.
-- p_history: also what was superseded, oldest first.
-- Returns:  one row per fact: name, value, is_current, subject_version, task_id and attempt of the result it came with, review_id, evidence_ids, confirmed_by, at.
--           None: nothing is known of it, or it is not there.
-- Raises:   BP403.
create or replace function bpm.get_facts(p_subject_type text, p_subject_key text, p_history boolean default false, p_tenant_id text default '')
returns table (name text, value jsonb, is_current boolean, subject_version integer, task_id uuid, attempt integer, review_id uuid, evidence_ids uuid[],
               confirmed_by text, at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return query
  select f.name, f.value, f.superseded_by is null, f.subject_version, f.task_instance_id, f.attempt, f.review_id, f.evidence_ids, f.confirmed_by, f.at
    from (select s.id from bpm_core.subject s where s.subject_key = p_subject_key and s.subject_type = p_subject_type and s.tenant_id = p_tenant_id offset 0) s
   cross join lateral (
     -- Two ways, so that what is true now is found without all that ever was.
     select f.* from (select f.* from bpm_core.fact f where f.subject_id = s.id and f.superseded_by is null offset 0) f where f.tenant_id = p_tenant_id and p_history is not true
     union all
     select f.* from (select f.* from bpm_core.fact f where f.subject_id = s.id offset 0) f where f.tenant_id = p_tenant_id and p_history) f
   order by f.subject_version, f.id;
end
$$;
