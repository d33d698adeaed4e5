-- I-09: a Completed or Cancelled task is never claimed again; an expired lease never completes.
create or replace function bpm_core.invariant_i_09(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-09', e.tenant_id, 'task', e.task_instance_id::text, 'completed after its lease had run out',
           jsonb_build_object('attempt', e.attempt, 'lease_until', e.lease_until, 'ended_at', e.ended_at))
    from bpm_core.execution e
   where e.tenant_id = p_tenant_id and e.state = 'Succeeded' and e.ended_at > e.lease_until
  union all
  select bpm_core.violation_of('I-09', e.tenant_id, 'task', e.task_instance_id::text, 'claimed again after it was completed',
           jsonb_build_object('completed_in', e.attempt, 'claimed_in', l.attempt))
    from bpm_core.execution e
    join bpm_core.execution l on l.tenant_id = e.tenant_id and l.task_instance_id = e.task_instance_id and l.attempt > e.attempt
   where e.tenant_id = p_tenant_id and e.state = 'Succeeded'
  union all
  select bpm_core.violation_of('I-09', t.tenant_id, 'task', t.id::text, 'in hand again after it was completed',
           jsonb_build_object('state', t.state, 'completed_in', e.attempt, 'attempt', t.attempt))
    from bpm_core.execution e
    join bpm_core.task_instance t on t.tenant_id = e.tenant_id and t.id = e.task_instance_id
   where e.tenant_id = p_tenant_id and e.state = 'Succeeded' and t.state <> 'Completed'
  union all
  select bpm_core.violation_of('I-09', h.tenant_id, 'task', e.task_instance_id::text, 'claimed again after it was cancelled',
           jsonb_build_object('attempt', e.attempt, 'cancelled_at', h.at, 'claimed_at', e.claimed_at))
    from bpm_core.history_event h
    join bpm_core.execution e on e.tenant_id = h.tenant_id and e.task_instance_id = (h.detail ->> 'task')::uuid
   where h.tenant_id = p_tenant_id and h.kind = 'TaskCancelled' and e.claimed_at > h.at
  ) q(v);
end
$$;
