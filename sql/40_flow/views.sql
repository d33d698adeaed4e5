-- How it stands, for looking at. Filtered by the caller's tenants once per query (an InitPlan). Joins are outer and on whole keys, so
-- that the planner drops those whose columns nobody asked for.

-- Open incidents are few, so they are counted once for all rows and not once per row.
create or replace view bpm.instance with (security_barrier) as
with open_incident as (
  select l.tenant_id, l.process_instance_id, count(*)::integer as incidents
    from bpm_core.incident i
    join bpm_core.workflow_instance l on l.tenant_id = i.tenant_id and l.id = i.workflow_instance_id
   where i.state = 'Open'
   group by l.tenant_id, l.process_instance_id
)

select p.tenant_id,
       p.id as process_instance_id,
       w.id as workflow_instance_id,
       d.code as process_code,
       v.version as process_version,
       p.business_key,
       p.status::text as status,
       p.variables || coalesce(w.variables, '{}') as variables,
       p.started_by,
       p.created_at,
       p.updated_at,
       p.ended_at,
       case when p.ended_bindings is null then coalesce(w.live_tokens, 0)
            else (select coalesce(sum(l.live_tokens), 0)::integer from bpm_core.workflow_instance l
                   where l.tenant_id = p.tenant_id and l.process_instance_id = p.id and l.parent_token_id is null) end as live_tokens,
       coalesce(o.incidents, 0) as open_incidents
  from bpm_core.process_instance p
  left join bpm_core.process_version v on v.tenant_id = p.tenant_id and v.id = p.process_version_id
  left join bpm_core.process_definition d on d.tenant_id = v.tenant_id and d.id = v.definition_id
  left join bpm_core.workflow_instance w
    on w.tenant_id = p.tenant_id and w.process_instance_id = p.id and w.binding_key = case when p.ended_bindings is null then 'main' end and w.trigger_key = ''
  left join open_incident o on o.tenant_id = p.tenant_id and o.process_instance_id = p.id
 where p.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.instance is 'Process instances, with the variables of their workflow, how many tokens are live and how many incidents open. Of a process of several workflows the variables are those of the process and workflow_instance_id is null: see bpm.workflow.';

create or replace view bpm.workflow with (security_barrier) as
select w.tenant_id,
       w.process_instance_id,
       w.id as workflow_instance_id,
       d.code as workflow_code,
       v.version as workflow_version,
       w.binding_key,
       b.position,
       b.depends_on,
       b.start_source as start_condition,
       w.parent_token_id,
       w.depth,
       w.status::text as status,
       w.variables,
       w.live_tokens::integer as live_tokens,
       w.created_at,
       w.ended_at
  from bpm_core.workflow_instance w
  left join bpm_core.workflow_version v on v.tenant_id = w.tenant_id and v.id = w.workflow_version_id
  left join bpm_core.workflow_definition d on d.tenant_id = v.tenant_id and d.id = v.definition_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
  left join bpm_core.process_workflow_binding b
    on b.tenant_id = p.tenant_id and b.process_version_id = p.process_version_id and b.binding_key = w.binding_key
 where w.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.workflow is 'The workflow instances of processes: its only one, or several, which may depend on each other (depends_on, start_condition); and those that call activities have called (parent_token_id). One that is Skipped never began, its start condition was false.';

create or replace view bpm.timer with (security_barrier) as
select t.tenant_id,
       t.id as timer_id,
       w.process_instance_id,
       t.workflow_instance_id,
       t.token_id,
       t.node_id,
       t.kind,
       t.rule,
       t.time_zone,
       t.status::text as status,
       t.scheduled_at,
       t.due_at,
       t.remaining,
       t.catch_up,
       d.code as process_code,
       v.version as process_version
  from bpm_core.timer t
  left join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
  left join bpm_core.process_version v on v.tenant_id = t.tenant_id and v.id = coalesce(t.process_version_id, p.process_version_id)
  left join bpm_core.process_definition d on d.tenant_id = v.tenant_id and d.id = v.definition_id
 where t.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.timer is 'Timers of waits, boundaries and, without an instance, of start events: Scheduled, Held, Fired or Cancelled.';

create or replace view bpm.start_event with (security_barrier) as
select d.tenant_id,
       d.code as process_code,
       v.version as process_version,
       e.node_id,
       e.kind,
       e.name,
       e.time_zone,
       e.next_due_at,
       e.remaining,
       e.since
  from (select s.tenant_id, s.process_version_id, s.node_id, s.kind, s.name, null::text as time_zone, null::timestamptz as next_due_at, null::integer as remaining,
               s.created_at as since
          from bpm_core.subscription s
         where s.process_version_id is not null and s.state = 'Open'
        union all
        select t.tenant_id, t.process_version_id, t.node_id, 'Timer', t.rule, t.time_zone, t.due_at, t.remaining, null
          from bpm_core.timer t
         where t.process_version_id is not null and t.status = 'Scheduled') e
  join bpm_core.process_version v on v.tenant_id = e.tenant_id and v.id = e.process_version_id
  join bpm_core.process_definition d on d.tenant_id = v.tenant_id and d.id = v.definition_id
 where d.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.start_event is 'What starts processes by itself: the message, signal or timer (name: its rule) each start event of a current version waits for.';

create or replace view bpm.message with (security_barrier) as
select m.tenant_id,
       m.id,
       m.name,
       m.correlation_key,
       m.message_id,
       m.payload,
       m.state::text as state,
       m.received_at,
       m.expires_at,
       w.process_instance_id,
       coalesce(s.workflow_instance_id, m.started_id) as workflow_instance_id,
       s.node_id
  from bpm_core.message m
  left join bpm_core.subscription s on s.tenant_id = m.tenant_id and s.id = m.correlated_to
  left join bpm_core.workflow_instance w on w.tenant_id = m.tenant_id and w.id = coalesce(s.workflow_instance_id, m.started_id)
 where m.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.message is 'Messages received: Buffered until somebody waits, Correlated with the wait that gets them or the instance they started (then without a node), or Expired. id is what correlate_message returns, message_id what the sender called it.';

create or replace view bpm.signal with (security_barrier) as
select g.tenant_id,
       g.id as signal_id,
       g.name,
       g.payload,
       g.receivers,
       g.sent_at
  from bpm_core.signal g
 where g.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.signal is 'Signals sent, by broadcast_signal or thrown by a process, with the number of waits that were open then.';

create or replace view bpm.incident with (security_barrier) as
select i.tenant_id,
       i.id as incident_id,
       w.process_instance_id,
       i.workflow_instance_id,
       p.business_key,
       i.token_id,
       i.node_id,
       n.name as node_name,
       i.code,
       i.message,
       i.detail,
       i.state::text as state,
       i.created_at,
       i.resolved_at,
       i.resolved_by
  from bpm_core.incident i
  left join bpm_core.workflow_instance w on w.tenant_id = i.tenant_id and w.id = i.workflow_instance_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
  left join bpm_core.workflow_node n
    on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = i.node_id
 where i.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.incident is 'What cannot go on, and why. resolve_incident drives the same token again.';

create or replace view bpm.compensation with (security_barrier) as
select r.tenant_id,
       w.process_instance_id,
       r.workflow_instance_id,
       r.id as record_id,
       r.position,
       r.node_id,
       n.name as node_name,
       r.handler_ref as handler_id,
       r.status::text as status,
       r.snapshot,
       r.recorded_at,
       r.thrower_token_id,
       coalesce(s.state = 'Open', false) as is_running,
       r.ended_at
  from bpm_core.compensation_record r
  left join bpm_core.workflow_instance w on w.tenant_id = r.tenant_id and w.id = r.workflow_instance_id
  left join bpm_core.workflow_node n
    on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = r.node_id
  left join bpm_core.scope s on s.tenant_id = r.tenant_id and s.id = r.handler_scope_id
 where r.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.compensation is 'The ledger of completed activities that have a compensation handler: undone from the highest position down. Pending, Completed or Failed; is_running while the handler is at work.';
