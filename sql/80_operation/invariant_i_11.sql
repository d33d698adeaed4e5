-- I-11: instance Completed <=> all its tokens are final; Running => a live token, an open incident, or work in the inbox.
-- Where the workflow is its process's only one, both have the same status; of several, the process has heard, or will hear, of each end, and what depends on
-- it has begun then and not before. A token has the waits of all events of its node,
-- a start event of a current version its own. What is held is
-- held because the instance is suspended, and the other way round.
create or replace function bpm_core.invariant_i_11(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-11', w.tenant_id, 'workflow_instance', w.id::text, 'running with nothing left to do', jsonb_build_object('status', w.status))
    from bpm_core.workflow_instance w
   where w.tenant_id = p_tenant_id and w.status in ('Running', 'Suspended')
     and not exists (select from bpm_core.token k
                      where k.tenant_id = w.tenant_id and k.workflow_instance_id = w.id and k.state in ('Ready', 'Executing', 'Waiting', 'Failed'))
     and not exists (select from bpm_core.incident i where i.tenant_id = w.tenant_id and i.workflow_instance_id = w.id and i.state = 'Open')
     and not exists (select from bpm_core.inbox i where i.tenant_id = w.tenant_id and i.target_id = w.id)
  union all
  select bpm_core.violation_of('I-11', w.tenant_id, 'process_instance', p.id::text, 'another status than its only workflow',
           jsonb_build_object('process', p.status, 'workflow', w.status))
    from bpm_core.workflow_instance w
    join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
   where w.tenant_id = p_tenant_id and w.ends_process and p.status::text <> w.status::text
  union all
  select bpm_core.violation_of('I-11', k.tenant_id, 'token', k.id::text, 'a token waits for an event without a subscription',
           jsonb_build_object('node', k.node_id, 'visit', k.visit, 'event', e.node_id))
    from bpm_core.token k
    join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id and w.id = k.workflow_instance_id
   cross join lateral bpm_core.events_awaited(k, w.workflow_version_id) e
   where k.tenant_id = p_tenant_id and k.state = 'Waiting' and e.kind in ('MessageCatch', 'MessageBoundary', 'SignalCatch', 'SignalBoundary', 'ConditionalCatch', 'ConditionalBoundary')
     and not exists (select
                       from bpm_core.subscription s
                      where s.tenant_id = k.tenant_id and s.token_id = k.id and s.visit = k.visit and s.node_id = e.node_id
                        and (s.state = 'Open'
                             -- Closed while the host rests: inside it something has begun that nothing else may disturb.
                             or s.state = 'Closed' and exists (select from bpm_core.scope o
                                                                where o.tenant_id = k.tenant_id and o.host_token_id = k.id and o.state = 'Open')))
     and not exists (select from bpm_core.inbox i where i.tenant_id = k.tenant_id and i.target_id = w.id)
  union all
  select bpm_core.violation_of(u.invariant, p_tenant_id, u.kind, u.id, u.rule, u.seen)
    from bpm_core.unmet_starts(p_tenant_id) u where u.invariant = 'I-11'
  union all
  select bpm_core.violation_of('I-11', p_tenant_id, h.kind, h.id::text, 'held, or not, unlike its instance',
           jsonb_build_object('instance_status', h.status, 'state', h.state))
    from bpm_core.held_astray(p_tenant_id) h
  union all
  select bpm_core.violation_of(b.invariant, p_tenant_id, b.kind, b.id, b.rule, b.seen)
    from bpm_core.broken_bindings(p_tenant_id) b where b.invariant = 'I-11'
  ) q(v);
end
$$;
