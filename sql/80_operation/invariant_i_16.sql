-- I-16: one approval per step visit, decided once, in effect exactly once, by the votes it takes; no task before approval. A token that rests at such a step has a
-- decision to come, an effect to come, or its task.
create or replace function bpm_core.invariant_i_16(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  with told as (
    select (h.detail ->> 'approval')::uuid as approval_id,
           count(*) filter (where h.kind = 'ApprovalDecided') as decided,
           count(*) filter (where h.kind = 'ApprovalApplied') as applied,
           coalesce(bool_or(h.detail @> '{"void": true}'), false) as void
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id and h.kind in ('ApprovalDecided', 'ApprovalApplied')
     group by (h.detail ->> 'approval')::uuid),
  offered as (
    -- One whose result was returned was offered again.
    select t.token_id, t.visit, count(*) as tasks
      from bpm_core.task_instance t
     where t.tenant_id = p_tenant_id
       and not exists (select from bpm_core.review r where r.tenant_id = t.tenant_id and r.task_instance_id = t.id and r.decision = 'Return')
     group by t.token_id, t.visit)
  select bpm_core.violation_of('I-16', a.tenant_id, 'approval', a.id::text, x.rule,
           jsonb_build_object('status', a.status, 'effect', a.effect, 'decided', d.decided, 'applied', d.applied, 'tasks', coalesce(o.tasks, 0)))
    from bpm_core.approval_record a
    left join told d on d.approval_id = a.id
    left join offered o on o.token_id = a.token_id and o.visit = a.visit
   cross join lateral (values
     ('decided more than once', d.decided > 1),
     ('took effect more than once', d.applied > 1),
     ('a task before the approval', coalesce(o.tasks, 0) > 0 and (a.status <> 'Approved' or a.effect <> 'Applied')),
     ('approved and applied, but no task', coalesce(o.tasks, 0) = 0 and a.status = 'Approved' and a.effect = 'Applied' and not coalesce(d.void, false)
      -- Or the task could not be offered: its expressions cannot be evaluated, its input is not valid.
      and not exists (select
                        from bpm_core.incident i
                       where i.tenant_id = a.tenant_id and i.token_id = a.token_id and i.node_id = a.node_id
                         and i.code in ('ExpressionUndecidable', 'InputInvalid') and i.created_at >= a.decided_at)),
     ('more than one task', coalesce(o.tasks, 0) > 1)) x(rule, broken)
   where a.tenant_id = p_tenant_id and x.broken
  union all
  select v from bpm_core.uneven_votes(p_tenant_id) v
  union all
  select bpm_core.violation_of('I-16', t.tenant_id, 'task', t.id::text, 'a task at a gated step without an approval', jsonb_build_object('node', t.node_id))
    from bpm_core.task_instance t
    join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
    join bpm_core.workflow_node n on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = t.node_id
    left join bpm_core.approval_record a
      on a.tenant_id = t.tenant_id and a.workflow_instance_id = t.workflow_instance_id and a.node_id = t.node_id
     and a.token_id = t.token_id and a.visit = t.visit
   where t.tenant_id = p_tenant_id and n.kind = 'ApprovalTask' and a.id is null
  union all
  select bpm_core.violation_of('I-16', k.tenant_id, 'token', k.id::text, 'a token waits at a gated step for nothing',
           jsonb_build_object('node', k.node_id, 'visit', k.visit, 'status', a.status, 'effect', a.effect))
    from bpm_core.token k
    join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id and w.id = k.workflow_instance_id
    join bpm_core.workflow_node n on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = k.node_id
    left join bpm_core.approval_record a
      on a.tenant_id = k.tenant_id and a.workflow_instance_id = k.workflow_instance_id and a.node_id = k.node_id
     and a.token_id = k.id and a.visit = k.visit and a.status <> 'Cancelled'
   where k.tenant_id = p_tenant_id and k.state = 'Waiting' and n.kind = 'ApprovalTask'
     and (a.id is null
          or a.effect = 'Applied'
             and not exists (select
                               from bpm_core.task_instance t
                              where t.tenant_id = k.tenant_id and t.token_id = k.id and t.visit = k.visit and t.state in ('Ready', 'Executing', 'Held'))
             -- Or its answer is parked while the instance is suspended.
             and not exists (select
                               from bpm_core.task_instance t
                               join bpm_core.inbox i on i.tenant_id = t.tenant_id and i.target_id = t.workflow_instance_id and i.kind = 'Answer'
                              where t.tenant_id = k.tenant_id and t.token_id = k.id and t.visit = k.visit and position(t.id::text in i.payload::text) > 0)
             and not exists (select
                               from bpm_core.review r
                              where r.tenant_id = k.tenant_id and r.token_id = k.id and r.state = 'Open'))
  ) q(v);
end
$$;
