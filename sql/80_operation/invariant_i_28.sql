-- I-28: an event is decided once: Dispatched and Ignored ⇔ one decision, Failed ⇔ one open dead letter; links belong to decided events, and what an event
-- started says so in its history, once.
create or replace function bpm_core.invariant_i_28(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-28', e.tenant_id, 'event', e.id::text, x.rule,
           jsonb_build_object('dispatch_state', e.dispatch_state, 'reason', e.reason, 'decisions', coalesce(d.decisions, 0), 'open_letters', coalesce(l.letters, 0)))
    from bpm_core.event e
    left join (select d.event_id, count(*) as decisions, bool_and(d.actions @? 'strict $[*] ? (@.action != "Ignore")') as acts
                 from bpm_core.routing_decision d
                where d.tenant_id = p_tenant_id
                group by d.event_id) d on d.event_id = e.id
    left join (select l.event_id, count(*) as letters
                 from bpm_core.dead_letter l
                where l.tenant_id = p_tenant_id and l.state = 'Open' and l.event_id is not null
                group by l.event_id) l on l.event_id = e.id
   cross join lateral (values
     ('decided without one decision', e.dispatch_state in ('Dispatched', 'Ignored') and coalesce(d.decisions, 0) <> 1),
     ('a decision about an event that is not decided', e.dispatch_state in ('Pending', 'Failed') and d.decisions > 0),
     ('ignored, though something was decided, or the other way round', (e.dispatch_state = 'Dispatched') <> d.acts and e.dispatch_state in ('Dispatched', 'Ignored')),
     ('failed without one open dead letter', e.dispatch_state = 'Failed' and coalesce(l.letters, 0) <> 1),
     ('a dead letter about an event that did not fail', e.dispatch_state <> 'Failed' and l.letters > 0),
     ('waits with rules that never were', e.rules_version > coalesce((select s.rules_version from bpm_core.routing_state s where s.tenant_id = p_tenant_id), 0))) x(rule, broken)
   where e.tenant_id = p_tenant_id and x.broken
  union all
  select bpm_core.violation_of('I-28', p.tenant_id, 'event_process_instance', p.event_id || ' ' || p.process_instance_id, 'a link of an event that was not dispatched',
           jsonb_build_object('how', p.how, 'dispatch_state', e.dispatch_state))
    from bpm_core.event_process_instance p
    join bpm_core.event e on e.tenant_id = p.tenant_id and e.id = p.event_id
   where p.tenant_id = p_tenant_id and e.dispatch_state <> 'Dispatched'
  union all
  select bpm_core.violation_of('I-28', h.tenant_id, 'workflow_instance', h.workflow_instance_id::text, 'started by an event that is not linked with it',
           jsonb_build_object('event', h.detail -> 'event'))
    from bpm_core.history_event h
    join bpm_core.workflow_instance w on w.tenant_id = h.tenant_id and w.id = h.workflow_instance_id
   where h.tenant_id = p_tenant_id and h.kind = 'InstanceStarted' and h.detail ? 'event'
     and not exists (select from bpm_core.event_process_instance p
                      where p.tenant_id = h.tenant_id and p.event_id = (h.detail ->> 'event')::uuid and p.process_instance_id = w.process_instance_id and p.how = 'Started')
  ) q(v);
end
$$;
