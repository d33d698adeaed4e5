-- Who does it, for looking at. Filtered by the caller's tenants once per query (an InitPlan).

create or replace view bpm.task with (security_barrier) as
select t.tenant_id,
       t.id as task_id,
       w.process_instance_id,
       t.workflow_instance_id,
       p.business_key,
       t.token_id,
       t.node_id,
       n.name as node_name,
       t.task_type,
       t.state::text as state,
       t.priority_level,
       t.available_at,
       t.attempt,
       t.max_attempts,
       t.fencing_token,
       t.worker_id,
       t.claimed_at,
       t.lease_until,
       t.input,
       t.assignee,
       t.candidate_groups,
       t.due_at,
       t.follow_up_at,
       t.candidate_users,
       t.headers,
       t.owner,
       t.delegation::text as delegation,
       t.delegates
  from bpm_core.task_instance t
  left join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
  left join bpm_core.workflow_node n
    on n.tenant_id = w.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = t.node_id
 where t.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.task is 'Offers of work, for machines and (type bpm:user) for people. worker_id and lease_until are those of the running attempt while the state is Executing.';

-- While an attempt runs it lives in its task row; when it ends it becomes a row of execution.
-- One filter around the union: PostgreSQL takes a union apart although the view is a barrier, and a function in a reader's WHERE would then be asked before
-- filters inside of it (I-19).
create or replace view bpm.execution with (security_barrier) as
select x.tenant_id,
       x.task_id,
       x.attempt,
       x.workflow_instance_id,
       x.node_id,
       x.task_type,
       x.state,
       x.worker_id,
       x.fencing_token,
       x.claimed_at,
       x.lease_until,
       x.ended_at,
       x.outcome,
       x.error
  from (
    select e.tenant_id, e.task_instance_id as task_id, e.attempt, t.workflow_instance_id, t.node_id, t.task_type, e.state::text as state, e.worker_id,
           e.fencing_token, e.claimed_at, e.lease_until, e.ended_at, e.outcome, e.error
      from bpm_core.execution e
      left join bpm_core.task_instance t on t.tenant_id = e.tenant_id and t.id = e.task_instance_id
    union all
    select t.tenant_id, t.id, t.attempt, t.workflow_instance_id, t.node_id, t.task_type, 'Running', t.worker_id, t.fencing_token, t.claimed_at, t.lease_until,
           null, null, null
      from bpm_core.task_instance t
     where t.state = 'Executing') x
 where x.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.execution is 'Attempts: Running, or how they ended (Succeeded, Failed, Expired, Released, Cancelled).';

create or replace view bpm.dead_letter with (security_barrier) as
select l.tenant_id,
       l.id as dead_letter_id,
       w.process_instance_id,
       l.workflow_instance_id,
       p.business_key,
       l.kind,
       l.token_id,
       l.task_instance_id as task_id,
       l.outbox_id,
       l.incident_id,
       l.error,
       l.payload,
       l.variables,
       l.state::text as state,
       l.created_at,
       l.closed_by,
       l.closed_at,
       l.event_id
  from bpm_core.dead_letter l
  left join bpm_core.workflow_instance w on w.tenant_id = l.tenant_id and w.id = l.workflow_instance_id
  left join bpm_core.process_instance p on p.tenant_id = w.tenant_id and p.id = w.process_instance_id
 where l.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.dead_letter is 'Work that used up its attempts or was refused. requeue_dead_letter gives it fresh attempts, discard_dead_letter closes it.';

-- One filter around the union, as above.
create or replace view bpm.result with (security_barrier) as
select x.tenant_id,
       x.task_id,
       x.attempt,
       x.workflow_instance_id,
       x.node_id,
       x.verdict,
       x.output,
       x.reasons,
       x.created_by,
       x.created_at
  from (
    select r.tenant_id, r.task_instance_id as task_id, r.attempt, t.workflow_instance_id, t.node_id, r.verdict::text as verdict, r.output, r.reasons, r.created_by,
           r.created_at
      from bpm_core.result r
      left join bpm_core.task_instance t on t.tenant_id = r.tenant_id and t.id = r.task_instance_id
    union all
    select r.tenant_id, r.task_instance_id, r.attempt, t.workflow_instance_id, t.node_id, 'Rejected', r.output, r.reasons, r.created_by, r.created_at
      from bpm_core.rejected_result r
      left join bpm_core.task_instance t on t.tenant_id = r.tenant_id and t.id = r.task_instance_id) x
 where x.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.result is 'What attempts gave back: accepted, to be reviewed, or rejected with the reasons because it did not meet the result schema of its task.';

create or replace view bpm.task_evidence with (security_barrier) as
select l.tenant_id,
       l.task_id,
       t.workflow_instance_id,
       w.process_instance_id,
       t.node_id,
       l.attempt,
       l.evidence_id,
       e.object_key,
       encode(e.sha256, 'hex') as sha256,
       e.mime,
       e.purged_at
  from (select a.tenant_id, a.task_instance_id as task_id, null::integer as attempt, a.evidence_id
          from bpm_core.task_evidence a
        union all
        select r.tenant_id, r.task_instance_id, r.attempt, r.evidence_id
          from bpm_core.result_evidence r) l
  join bpm_core.evidence e on e.tenant_id = l.tenant_id and e.id = l.evidence_id
  left join bpm_core.task_instance t on t.tenant_id = l.tenant_id and t.id = l.task_id
  left join bpm_core.workflow_instance w on w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id
 where l.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.task_evidence is 'The evidence of tasks: what was attached to one (attempt null), and what a result came with.';

create or replace view bpm.task_comment with (security_barrier) as
select c.tenant_id,
       c.id as comment_id,
       c.task_instance_id as task_id,
       c.author,
       c.said,
       c.created_at
  from bpm_core.task_comment c
 where c.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.task_comment is 'What people say about user tasks.';

create or replace view bpm.task_quota with (security_barrier) as
select q.tenant_id,
       q.task_type,
       q.bound,
       (select count(*)::integer
          from bpm_core.quota_slot s
         where s.tenant_id = q.tenant_id and s.task_type = q.task_type and s.task_instance_id is not null) as held,
       q.set_by,
       q.set_at
  from bpm_core.task_quota q
 where q.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.task_quota is 'How many tasks may be Executing at once, of a type or (task_type empty) of the whole tenant, and how many of the slots are held now.';
