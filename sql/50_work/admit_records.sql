-- Under the locks of instances and tasks: may the facts and evidence of these answers be taken with them? Only those of answers that will be accepted are
-- looked at; the others keep no record, but for those refused already. Nothing is written but subjects that were not there.
-- Returns:  answer[]: refusal Conflict where a subject is not at the version expected or evidence was purged.
-- Writes:   subject. Locks: subject, then evidence for share.
create or replace function bpm_core.admit_records(p_tenant_id text, p_answers bpm_core.answer[], p_now timestamptz)
returns bpm_core.answer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_standing bpm_core.answer[];
  v_refused  integer[];
begin
  -- Those accept_answers will take: the first per token shown, under a lease, with a result that meets its schema.
  v_standing := array(
    select a.answer
      from (select distinct on (a.task_id, a.fencing_token) p_tenant_id as tenant_id, a.task_id, a.fencing_token, a as answer
              from unnest(p_answers) a
             where a.variables is not null and a.refusal is null
             order by a.task_id, a.fencing_token, a.item) a
     cross join lateral (select t.state, t.fencing_token, t.lease_until, t.task_version_id, t.checks_result from bpm_core.task_instance t
                          where t.tenant_id = a.tenant_id and t.id = a.task_id offset 0) t
      left join lateral (select bpm_core.schema_fault(v.result_schema, (a.answer).output) as fault from bpm_core.task_version v
                          where t.checks_result and v.tenant_id = a.tenant_id and v.id = t.task_version_id offset 0) c on true
     where (a.answer).record is not null and t.state = 'Executing' and t.fencing_token = a.fencing_token and t.lease_until > p_now and c.fault is null
     order by (a.answer).item);
  v_refused := bpm_core.refused_records(p_tenant_id, v_standing, p_now);
  return array(
    select row(a.item, a.task_id, a.fencing_token, a.variables, a.output, a.content_hash,
               case when a.variables is null then a.record else s.record end,  -- refused before: whoever says why looks at it
               case when s.item = any (v_refused) then 'Conflict' else a.refusal end)::bpm_core.answer
      from unnest(p_answers) a
      left join lateral (select s.item, case when s.item = a.item then s.record end as record
                           from unnest(v_standing) s where s.task_id = a.task_id and s.fencing_token = a.fencing_token) s on true
     order by a.item);
end
$$;
