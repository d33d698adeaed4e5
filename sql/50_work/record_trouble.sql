-- Why the evidence and facts of an answer were refused, in words, for the single forms: the task is as it was.
-- Returns:  text; null when it was not because of them.
create or replace function bpm_core.record_trouble(p_tenant_id text, p_task_id uuid, p_record jsonb)
returns text
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_trouble text := case when p_record is not null then bpm_core.record_fault(p_record) end;
begin
  if p_record is null or v_trouble is not null
     or exists (select from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = p_task_id and t.state not in ('Executing', 'Ready')) then
    return v_trouble;
  elsif cardinality(bpm_core.lock_evidence(p_tenant_id, array[p_record -> 'evidence'])) > 0 then
    return 'Evidence was purged or is not there; nothing new may refer to it.';
  end if;
  select format('Subject %s %s is at version %s, not %s.', f.subject_type, f.subject_key, coalesce(s.lock_version, 0), f.expected_version) into v_trouble
    from unnest(bpm_core.told_facts(array[row(1, null, null, null, null, null, p_record, null)::bpm_core.answer])) f
    left join bpm_core.subject s on s.tenant_id = p_tenant_id and s.subject_type = f.subject_type and s.subject_key = f.subject_key
   where f.expected_version <> coalesce(s.lock_version, 0)
   limit 1;
  return v_trouble;
end
$$;
