-- I-03: at most one claim succeeds per task attempt. A running attempt has not ended; no two attempts share a fencing token.
create or replace function bpm_core.invariant_i_03(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-03', t.tenant_id, 'task', t.id::text, 'the running attempt has ended already',
           jsonb_build_object('attempt', t.attempt, 'worker', t.worker_id, 'ended_by', e.worker_id, 'ended', e.state))
    from bpm_core.task_instance t
    join bpm_core.execution e on e.tenant_id = t.tenant_id and e.task_instance_id = t.id and e.attempt = t.attempt
   where t.tenant_id = p_tenant_id and t.state = 'Executing'
  union all
  select bpm_core.violation_of('I-03', p_tenant_id, 'task', a.task_id::text, 'two attempts share a fencing token',
           jsonb_build_object('fencing_token', a.fencing_token, 'attempts', array_agg(a.attempt order by a.attempt)))
    from (select e.task_instance_id as task_id, e.attempt, e.fencing_token
            from bpm_core.execution e
           where e.tenant_id = p_tenant_id
          union
          select t.id, t.attempt, t.fencing_token
            from bpm_core.task_instance t
           where t.tenant_id = p_tenant_id and t.state = 'Executing') a
   group by a.task_id, a.fencing_token
  having count(*) > 1
  ) q(v);
end
$$;
