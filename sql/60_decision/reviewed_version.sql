-- The versions of the subjects the facts of a record speak of, added up. It grows when any of them moves.
-- Returns:  integer, 0 when there are no facts.
create or replace function bpm_core.reviewed_version(p_tenant_id text, p_record jsonb)
returns integer
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return (
    select coalesce(sum(s.lock_version), 0)::integer
      from (select distinct p_tenant_id as tenant_id, f.fact ->> 'subject_type' as subject_type, f.fact ->> 'subject_key' as subject_key
              from jsonb_array_elements(p_record -> 'facts') f(fact) offset 0) f
     cross join lateral (select s.lock_version from bpm_core.subject s
                          where s.subject_key = f.subject_key and s.subject_type = f.subject_type and s.tenant_id = f.tenant_id offset 0) s);
end
$$;
