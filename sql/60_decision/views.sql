-- Who allows it, for looking at. Filtered by the caller's tenants once per query (an InitPlan).

create or replace view bpm.approval with (security_barrier) as
select a.tenant_id,
       a.id as approval_id,
       w.process_instance_id,
       a.workflow_instance_id,
       p.business_key,
       a.token_id,
       a.node_id,
       n.name as node_name,
       a.task_type,
       a.status::text as status,
       a.effect::text as effect,
       a.decided_by,
       a.decided_at,
       a.note,
       a.required_approvals,
       a.expires_at,
       a.created_at,
       a.approvers,
       a.veto,
       a.exclude || a.excluded_actors as excluded,
       a.escalate_to,
       a.escalated_at,
       a.reminded,
       a.approver_groups,
       a.claimed_by,
       (select count(*)::integer
          from bpm_core.approval_vote v
         where v.tenant_id = a.tenant_id and v.approval_id = a.id and v.vote = 'Approve') as approvals,
       (select count(*)::integer
          from bpm_core.approval_vote v
         where v.tenant_id = a.tenant_id and v.approval_id = a.id and v.vote = 'Reject') as rejections
  from bpm_core.approval_record a
  left join bpm_core.workflow_instance w on w.tenant_id = a.tenant_id and w.id = a.workflow_instance_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
  left join bpm_core.workflow_node n
    on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = a.node_id
 where a.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.approval is 'Decisions asked for: Pending until bpm.decide_approval, then Approved or Rejected; Expired; Cancelled when the step was left. effect Applied: the decision has had its consequence.';

create or replace view bpm.approval_vote with (security_barrier) as
select v.tenant_id,
       v.approval_id,
       v.actor,
       v.vote,
       v.note,
       v.at,
       v.evidence_ids,
       v.groups
  from bpm_core.approval_vote v
 where v.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.approval_vote is 'What each person said about a decision, and the evidence they said it on.';

create or replace view bpm.review with (security_barrier) as
select r.tenant_id,
       r.id as review_id,
       w.process_instance_id,
       r.workflow_instance_id,
       p.business_key,
       t.node_id,
       r.task_instance_id as task_id,
       r.attempt,
       r.state::text as state,
       r.expected_version,
       encode(r.content_hash, 'hex') as content_hash,
       r.variables,
       r.record,
       r.decision,
       r.actor as decided_by,
       r.decided_at,
       r.reason,
       r.superseded_by,
       r.created_at
  from bpm_core.review r
  left join bpm_core.workflow_instance w on w.tenant_id = r.tenant_id and w.id = r.workflow_instance_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
  left join bpm_core.token t on t.tenant_id = r.tenant_id and t.id = r.token_id
 where r.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.review is 'Results somebody has to look at: Open until bpm.decide_review; Superseded when what they speak of moved; Closed when their step was left.';
