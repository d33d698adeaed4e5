-- I-10: timers take effect once; a cancelled or fired timer is never due. A scheduled one waits on a live token of the same visit, and a token
-- at a timer event, or at an event-based gateway before one, has its timer. So has the start event of a current version, until its last occurrence.
create or replace function bpm_core.invariant_i_10(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  with ended as (
    select (h.detail ->> 'timer')::uuid as timer_id,
           count(*) filter (where h.kind = 'TimerFired') as fired,
           count(*) filter (where h.kind = 'TimerCancelled') as cancelled
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id and h.kind in ('TimerFired', 'TimerCancelled')
     group by (h.detail ->> 'timer')::uuid)
  select bpm_core.violation_of('I-10', t.tenant_id, 'timer', t.id::text, x.rule,
           jsonb_build_object('status', t.status, 'node', t.node_id, 'fired', coalesce(e.fired, 0), 'cancelled', coalesce(e.cancelled, 0)))
    from bpm_core.timer t
    left join ended e on e.timer_id = t.id
   cross join lateral (values
     ('fired more than once', coalesce(e.fired, 0) > 1),
     ('fired and cancelled', coalesce(e.fired, 0) > 0 and coalesce(e.cancelled, 0) > 0),
     ('due again after it had fired or was cancelled', t.status in ('Scheduled', 'Held') and e.timer_id is not null)) x(rule, broken)
   where t.tenant_id = p_tenant_id and x.broken
  union all
  select bpm_core.violation_of('I-10', t.tenant_id, 'timer', t.id::text, 'due, but nothing waits for it',
           jsonb_build_object('node', t.node_id, 'visit', t.visit, 'token_state', k.state, 'token_node', k.node_id, 'token_visit', k.visit))
    from bpm_core.timer t
    left join bpm_core.token k on k.tenant_id = t.tenant_id and k.id = t.token_id
   where t.tenant_id = p_tenant_id and t.status in ('Scheduled', 'Held') and t.workflow_instance_id is not null
     and (k.id is null or k.state in ('Completed', 'Terminated') or k.visit <> t.visit)
  union all
  select bpm_core.violation_of('I-10', k.tenant_id, 'token', k.id::text, 'a token waits at a timer event without a timer',
           jsonb_build_object('node', k.node_id, 'visit', k.visit, 'event', e.node_id))
    from bpm_core.token k
    join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id and w.id = k.workflow_instance_id
   cross join lateral bpm_core.events_awaited(k, w.workflow_version_id) e
   where k.tenant_id = p_tenant_id and k.state = 'Waiting' and e.kind = 'TimerCatch'
     and not exists (select
                       from bpm_core.timer t
                      where t.tenant_id = k.tenant_id and t.token_id = k.id and t.visit = k.visit and t.node_id = e.node_id
                        and t.status in ('Scheduled', 'Held'))
  union all
  select bpm_core.violation_of(u.invariant, p_tenant_id, u.kind, u.id, u.rule, u.seen)
    from bpm_core.unmet_starts(p_tenant_id) u where u.invariant = 'I-10'
  ) q(v);
end
$$;
