-- I-08: attempts never fall and never pass the maximum except by an audited requeue; fencing tokens only grow.
-- A release gives its attempt back by raising the maximum by one; a migration leaves what the old version gave.
create or replace function bpm_core.invariant_i_08(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-08', p_tenant_id, 'task', a.task_id::text, 'a later attempt has no higher fencing token',
           jsonb_build_object('attempt', a.attempt, 'fencing_token', a.fencing_token, 'before', a.before))
    from (select e.task_instance_id as task_id, e.attempt, e.fencing_token,
                 lag(e.fencing_token) over (partition by e.task_instance_id order by e.attempt) as before
            from bpm_core.execution e
           where e.tenant_id = p_tenant_id) a
   where a.fencing_token < a.before
  union all
  select bpm_core.violation_of('I-08', t.tenant_id, 'task', t.id::text, 'attempt or fencing token fell',
           jsonb_build_object('attempt', t.attempt, 'fencing_token', t.fencing_token, 'highest_attempt', e.attempt, 'highest_fencing_token', e.fencing_token))
    from bpm_core.task_instance t
    join (select e.task_instance_id, max(e.attempt) as attempt, max(e.fencing_token) as fencing_token
            from bpm_core.execution e
           where e.tenant_id = p_tenant_id
           group by e.task_instance_id) e on e.task_instance_id = t.id
   where t.tenant_id = p_tenant_id and (t.attempt < e.attempt or t.fencing_token < e.fencing_token)
  union all
  select bpm_core.violation_of('I-08', t.tenant_id, 'task', t.id::text, 'the maximum was raised without a requeue',
           jsonb_build_object('max_attempts', t.max_attempts, 'of_binding', b.max_attempts, 'released', coalesce(r.times, 0)))
    from bpm_core.task_instance t
    join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
    join bpm_core.workflow_task_binding b
      on b.tenant_id = w.tenant_id and b.workflow_version_id = w.workflow_version_id and b.node_id = t.node_id
    left join (select e.task_instance_id, count(*) as times
                 from bpm_core.execution e
                where e.tenant_id = p_tenant_id and e.state = 'Released'
                group by e.task_instance_id) r on r.task_instance_id = t.id
   where t.tenant_id = p_tenant_id and t.max_attempts > b.max_attempts + coalesce(r.times, 0) and w.created_at >= (select bpm_core.history_since())
     and not exists (select
                       from bpm_core.history_event h
                      where h.tenant_id = t.tenant_id and h.workflow_instance_id = t.workflow_instance_id and h.kind = 'TaskRequeued'
                        and h.detail ->> 'task' = t.id::text)
     and not exists (select from bpm_core.instance_migration m where m.tenant_id = t.tenant_id and m.workflow_instance_id = t.workflow_instance_id)
  ) q(v);
end
$$;
