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
comment on view bpm.command is 'Commands to the outside: Pending, Sending, Sent, Failed, Unknown (nobody knows whether it arrived), Manual (a person has it), Cancelled. sent_again_at: an Unknown one is sent again by itself then; null: only bpm.reconcile_command moves it. first_sent_at null: the receiver cannot have seen it.';
