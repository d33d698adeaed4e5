-- Locks the subjects facts are told of, in order of type and key, those that are not there made first, unless every teller expects them to be there.
-- Writes:   subject. Locks: subject: it is a shared parent, so instances and tasks are locked before.
create or replace function bpm_core.lock_subjects(p_tenant_id text, p_facts bpm_core.told_fact[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.subject (tenant_id, id, subject_type, subject_key, created_at, updated_at)
  select p_tenant_id, bpm_core.new_id(), f.subject_type, f.subject_key, p_now, p_now
    from (select f.subject_type collate "C", f.subject_key collate "C" from unnest(p_facts) f
           group by 1, 2 having bool_or(coalesce(f.expected_version, 0) = 0) order by 1, 2) f
  on conflict do nothing;
  perform 1
     from (select p_tenant_id as tenant_id, f.* from (select distinct f.subject_type collate "C", f.subject_key collate "C" from unnest(p_facts) f order by 1, 2) f offset 0) f
    cross join lateral (
      select
        from bpm_core.subject s
       where s.subject_key = f.subject_key and s.subject_type = f.subject_type and s.tenant_id = f.tenant_id
         for no key update) s;
end
$$;
