-- I-12: a final instance has no live token, task, timer, subscription, pending approval, open scope, multi-instance.
create or replace function bpm_core.invariant_i_12(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-12', w.tenant_id, 'workflow_instance', w.id::text, 'final, but not everything in it is',
           jsonb_build_object('status', w.status, 'open', o.kind, 'id', o.id, 'state', o.state))
    from bpm_core.workflow_instance w
    join (
      select 'token' as kind, k.workflow_instance_id, k.id, k.state::text as state
        from bpm_core.token k
       where k.tenant_id = p_tenant_id and k.state in ('Ready', 'Executing', 'Waiting', 'Failed')
      union all
      select 'task', t.workflow_instance_id, t.id, t.state::text
        from bpm_core.task_instance t
       where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Executing', 'Held')
      union all
      select 'timer', t.workflow_instance_id, t.id, t.status::text
        from bpm_core.timer t
       where t.tenant_id = p_tenant_id and t.status in ('Scheduled', 'Held')
      union all
      select 'subscription', s.workflow_instance_id, s.id, s.state::text
        from bpm_core.subscription s
       where s.tenant_id = p_tenant_id and s.state = 'Open'
      union all
      select 'review', r.workflow_instance_id, r.id, r.state::text
        from bpm_core.review r
       where r.tenant_id = p_tenant_id and r.state = 'Open'
      union all
      select 'approval', a.workflow_instance_id, a.id, a.status::text
        from bpm_core.approval_record a
       where a.tenant_id = p_tenant_id and a.status = 'Pending'
      union all
      select 'scope', s.workflow_instance_id, s.id, s.state
        from bpm_core.scope s
       where s.tenant_id = p_tenant_id and s.state = 'Open'
      union all
      select 'multi_instance', m.workflow_instance_id, m.host_token_id, m.mode
        from bpm_core.multi_instance m
       where m.tenant_id = p_tenant_id) o on o.workflow_instance_id = w.id
   where w.tenant_id = p_tenant_id and w.status in ('Completed', 'Failed', 'Cancelled', 'Skipped')
  ) q(v);
end
$$;
