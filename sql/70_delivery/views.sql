-- What leaves, for looking at. Filtered by the caller's tenants once per query (an InitPlan).

create or replace view bpm.command with (security_barrier) as
select o.tenant_id,
       o.command_id,
       w.process_instance_id,
       o.workflow_instance_id,
       p.business_key,
       o.node_id,
       n.name as node_name,
       o.task_type,
       o.destination_code,
       o.state::text as state,
       o.available_at,
       o.attempt,
       o.max_attempts,
       o.fencing_token,
       o.worker_id,
       o.lease_until,
       o.first_sent_at,
       case when o.state = 'Unknown' then o.review_at end as sent_again_at,
       o.probe_at as asked_at,
       o.sequence_key,
       o.again_of,
       o.payload,
       encode(o.payload_hash, 'hex') as payload_hash,
       o.receipt,
       o.last_error,
       o.created_at,
       o.ended_at
  from bpm_core.outbox o
  left join bpm_core.workflow_instance w on w.tenant_id = o.tenant_id and w.id = o.workflow_instance_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
  left join bpm_core.workflow_node n
    on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = o.node_id
 where o.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.command is 'Commands to the outside: Pending, Sending, Sent, Failed, Unknown (nobody knows whether it arrived), Manual (a person has it), Cancelled. sent_again_at: an Unknown one is sent again by itself then; asked_at: the receiver is asked for it then; both null: only bpm.reconcile_command moves it. available_at infinity: one of its sequence is before it. first_sent_at null: the receiver cannot have seen it.';

create or replace view bpm.unknown_command with (security_barrier) as
select o.tenant_id,
       o.command_id,
       o.workflow_instance_id,
       o.node_id,
       o.destination_code,
       o.state::text as state,
       o.attempt,
       coalesce(o.last_error ->> 'error', o.last_error ->> 'reason', o.last_error ->> 'outcome', 'nobody reported') as reason,
       o.last_error as detail,
       case when o.state = 'Manual' then 'a person'
            when o.state = 'Reconciling' then 'the receiver is being asked'
            when o.probe_at is not null then 'the receiver is asked'
            when o.review_at is not null then 'it is sent again'
            else 'a person' end as next_step,
       coalesce(o.probe_at, o.review_at) as next_at,
       case when o.state <> 'Unknown' or o.probe_at is not null or o.review_at is not null then null
            when not (o.destination_snapshot ->> 'resend_allowed')::boolean then 'the receiver does not honour keys'
            when o.attempt >= o.max_attempts then 'no attempt is left'
            else 'the receiver may have forgotten the key' end as why_not_again,
       o.first_sent_at
  from bpm_core.outbox o
 where o.state in ('Unknown', 'Reconciling', 'Manual') and o.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.unknown_command is 'Commands of which nobody knows whether they arrived: why, and what happens next. Where next_step is a person, bpm.reconcile_command moves them.';

create or replace view bpm.destination with (security_barrier) as
select d.tenant_id,
       d.code,
       d.kind,
       d.config,
       d.secret_ref,
       coalesce(g.state::text, 'Closed') as state,
       coalesce(g.failures, 0) as failures,
       g.opened_at,
       g.probe_at,
       g.held_by,
       g.reason,
       g.last_error,
       d.key_header,
       d.key_retention,
       d.conflict_means,
       d.resend_allowed,
       d.server_error_safe,
       d.receipt_path,
       d.probe_url,
       d.absent_means,
       d.ordered,
       d.max_attempts,
       d.backoff,
       d.backoff_cap,
       d.lease,
       d.max_concurrent,
       d.rate_limit,
       d.rate_period,
       d.breaker_threshold,
       d.breaker_delay,
       d.updated_at
  from bpm_core.destination d
  left join bpm_core.destination_gate g on g.tenant_id = d.tenant_id and g.destination_id = d.id
 where d.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.destination is 'Where commands go, how the receivers behave, and the circuit breakers: Closed (it is sent to), Open (until probe_at nothing is; held_by: until a person says so), HalfOpen (one command is tried).';

create or replace view bpm.domain_event with (security_barrier) as
select e.tenant_id,
       e.published_no,
       e.id as event_id,
       e.event_type,
       e.state::text as state,
       e.process_code,
       e.aggregate_id as workflow_instance_id,
       e.payload,
       e.created_at,
       e.published_at
  from bpm_core.event_outbox e
 where e.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.domain_event is 'What happened, as subscribers are told: Pending (about to be numbered), Published, Parked (of a type nobody knows).';

create or replace view bpm.event_subscription with (security_barrier) as
select s.tenant_id,
       s.code,
       s.process_code,
       s.event_types,
       s.destination_code,
       s.notify_channel,
       s.cursor_no,
       t.last_no,
       t.last_no - s.cursor_no as behind,
       case when s.ended_at is null and s.cursor_no < t.last_no then (
         select e.published_at
           from bpm_core.event_outbox e
          where e.tenant_id = s.tenant_id and e.published_no = s.cursor_no + 1) end as behind_since,
       s.attempt,
       s.next_at,
       s.worker_id,
       s.lease_until,
       s.last_error,
       s.created_by,
       s.created_at,
       s.ended_at
  from bpm_core.event_subscription s
  left join bpm_core.event_stream t on t.tenant_id = s.tenant_id
 where s.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.event_subscription is 'Who is told of events: up to cursor_no it has all, behind tells how many numbers there are beyond (it may not want all of them), behind_since since when the first of these is there; last_error what keeps it.';
