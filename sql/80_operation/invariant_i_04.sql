-- I-04: a stale fence or lease changes nothing. What a task became was brought by its last attempt: an accepted result belongs to the attempt
-- that succeeded, and the attempt that succeeded is the last.
create or replace function bpm_core.invariant_i_04(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-04', r.tenant_id, 'task', r.task_instance_id::text, 'a result of an attempt that did not succeed was accepted',
           jsonb_build_object('attempt', r.attempt, 'execution', e.state))
    from bpm_core.result r
    left join bpm_core.execution e on e.tenant_id = r.tenant_id and e.task_instance_id = r.task_instance_id and e.attempt = r.attempt
   where r.tenant_id = p_tenant_id and r.verdict = 'Accepted' and e.state is distinct from 'Succeeded'
  union all
  select bpm_core.violation_of('I-04', t.tenant_id, 'task', t.id::text, 'an attempt succeeded that was not the last',
           jsonb_build_object('succeeded', e.attempt, 'fencing_token', e.fencing_token, 'last', t.attempt, 'last_fencing_token', t.fencing_token))
    from bpm_core.execution e
    join bpm_core.task_instance t on t.tenant_id = e.tenant_id and t.id = e.task_instance_id
   where e.tenant_id = p_tenant_id and e.state = 'Succeeded' and (t.attempt <> e.attempt or t.fencing_token <> e.fencing_token)
  ) q(v);
end
$$;
