-- The shipments of the logistics example, as views over subjects and facts. Whoever looks sees the tenants granted to them: security_invoker leaves that
-- to the views of the engine.

create schema if not exists logistics;

create or replace view logistics.shipment with (security_invoker = true) as
select s.tenant_id,
       s.subject_key as shipment,
       s.facts ->> 'status' as status,
       s.facts ->> 'place' as place,
       (s.facts ->> 'weight_kg')::numeric as weight_kg,
       s.facts ->> 'received_by' as received_by,
       s.lock_version,
       s.updated_at
  from bpm.subject s
 where s.subject_type = 'shipment';
comment on view logistics.shipment is 'One row per shipment: what is true of it now.';

create or replace view logistics.shipment_fact with (security_invoker = true) as
select f.tenant_id,
       f.subject_key as shipment,
       f.subject_version as version,
       f.name,
       f.value,
       f.is_current,
       f.node_id as step,
       f.confirmed_by,
       (select array_agg(coalesce(e.object_key, 'purged ' || left(e.sha256, 8)) order by e.object_key)
          from bpm.evidence e
         where e.tenant_id = f.tenant_id and e.evidence_id = any (f.evidence_ids)) as evidence,
       f.task_id,
       f.attempt,
       f.process_instance_id,
       f.at
  from bpm.fact f
 where f.subject_type = 'shipment';
comment on view logistics.shipment_fact is 'Everything ever said of a shipment: in which step, by whom, and what proves it.';
