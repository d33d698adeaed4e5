-- Why an answer was rejected for not meeting the result schema of its task: now, or when it was given first. Ten different ones of an attempt are kept;
-- of others it is only said while they could still be answered.
-- Returns:  text, null when it was not.
create or replace function bpm_core.rejection(p_tenant_id text, p_answer bpm_core.answer)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_reason text;
begin
  select coalesce(r.reason, bpm_core.schema_fault(v.result_schema, p_answer.output)) into v_reason
    from (select t.* from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = p_answer.task_id and t.checks_result offset 0) t
    left join lateral (
      select v.result_schema from bpm_core.task_version v
       where v.tenant_id = t.tenant_id and v.id = t.task_version_id and t.state = 'Executing' and t.fencing_token = p_answer.fencing_token
         and t.lease_until > bpm_core.now() offset 0) v on true
    left join lateral (
      select r.reasons ->> 0 as reason
        from bpm_core.rejected_result r
       where r.tenant_id = t.tenant_id and r.task_instance_id = t.id and r.content_hash = p_answer.content_hash and r.fencing_token = p_answer.fencing_token
       limit 1) r on true;
  return 'The result does not meet the schema of its task, ' || v_reason || '.';
end
$$;
