-- What came in, for looking at. Filtered by the caller's tenants once per query (an InitPlan).

create or replace view bpm.event with (security_barrier) as
select e.tenant_id,
       e.id as event_id,
       e.channel,
       e.session_id,
       e.thread_id,
       e.provider_event_id,
       e.event_type,
       e.payload,
       e.occurred_at,
       e.received_at,
       e.dispatch_state::text as dispatch_state,
       e.reason,
       e.detail,
       e.attempts,
       nullif(e.available_at, 'infinity') as available_at,
       e.decided_at,
       array(
         select l.process_instance_id
           from bpm_core.event_process_instance l
          where l.tenant_id = e.tenant_id and l.event_id = e.id
          order by l.process_instance_id) as process_instance_ids
  from bpm_core.event e
 where e.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.event is 'Events accepted: Pending (reason: what they wait for; available_at: when tick looks at them again, null when only other rules or a person move them), Dispatched, Ignored or Failed.';

create or replace view bpm.routing_decision with (security_barrier) as
select d.tenant_id,
       d.event_id,
       d.actions,
       d.proposal,
       d.rules,
       d.decided_by,
       d.reason,
       c.business_key,
       d.business_case_id,
       d.decided_at
  from bpm_core.routing_decision d
  left join bpm_core.business_case c on c.tenant_id = d.tenant_id and c.id = d.business_case_id
 where d.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.routing_decision is 'What was decided about each event, once: by rules, or by whom; proposal: what the rules had proposed.';

create or replace view bpm.event_link with (security_barrier) as
select l.tenant_id,
       l.event_id,
       l.how,
       l.process_instance_id,
       l.task_id,
       l.evidence_id,
       l.at
  from (select p.tenant_id, p.event_id, p.how, p.process_instance_id, null::uuid as task_id, null::uuid as evidence_id, p.at
          from bpm_core.event_process_instance p
        union all
        select t.tenant_id, t.event_id, 'Attached', w.process_instance_id, t.task_instance_id, null, t.at
          from bpm_core.task_event t
          left join bpm_core.task_instance i on i.tenant_id = t.tenant_id and i.id = t.task_instance_id
          left join bpm_core.workflow_instance w on w.tenant_id = i.tenant_id and w.id = i.workflow_instance_id
        union all
        select v.tenant_id, v.event_id, 'Evidence', null, null, v.evidence_id, e.received_at
          from bpm_core.event_evidence v
          left join bpm_core.event e on e.tenant_id = v.tenant_id and e.id = v.event_id) l
 where l.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.event_link is 'What events are linked with: process instances they Started, Correlated with or were Attached to, tasks, and the Evidence they brought.';

create or replace view bpm.routing_rule with (security_barrier) as
select r.tenant_id,
       r.code,
       r.event_type,
       r.channel,
       r.priority,
       r.condition_source as condition,
       r.action,
       r.process_code,
       r.business_key_path,
       r.message_name,
       r.correlation_path,
       case when r.message_name is not null then r.message_ttl end as message_ttl,
       (select jsonb_object_agg(m.mapping ->> 'target', m.mapping -> 'source') from jsonb_array_elements(r.variables) m(mapping)) as variables,
       r.reason,
       r.updated_by,
       r.created_at,
       r.updated_at
  from bpm_core.routing_rule r
 where r.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.routing_rule is 'What becomes of events of a type. All rules of the highest priority at which any applies are followed.';

create or replace view bpm.business_case with (security_barrier) as
select c.tenant_id,
       c.id as business_case_id,
       c.business_key,
       c.state,
       c.lock_version,
       c.created_at
  from bpm_core.business_case c
 where c.tenant_id = any (array(select bpm_core.visible_tenants()));
comment on view bpm.business_case is 'What process instances and events with one business key belong to: Open or Closed.';
