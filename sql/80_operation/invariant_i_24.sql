-- I-24: facts come only from accepted results or approved reviews, with provenance: the subject counts who spoke of it, the evidence came with the result or was
-- looked at in the review, each fact supersedes the one before it once, and one per name stands.
create or replace function bpm_core.invariant_i_24(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-24', f.tenant_id, 'fact', f.id::text, x.rule,
           jsonb_build_object('subject', f.subject_id, 'name', f.name, 'task', f.task_instance_id, 'attempt', f.attempt, 'verdict', r.verdict, 'evidence', f.evidence_ids))
    from bpm_core.fact f
    left join bpm_core.result r on r.tenant_id = f.tenant_id and r.task_instance_id = f.task_instance_id and r.attempt = f.attempt
    left join bpm_core.review w on w.tenant_id = f.tenant_id and w.id = f.review_id
    left join bpm_core.fact n on n.tenant_id = f.tenant_id and n.id = f.superseded_by
   cross join lateral (values
     ('its result was not accepted', f.task_instance_id is not null and r.verdict is distinct from 'Accepted' and f.review_id is null),
     ('its review did not approve that result', f.review_id is not null
        and (w.decision is distinct from 'Approve' or (w.task_instance_id, w.attempt) is distinct from (f.task_instance_id, f.attempt) or w.actor is distinct from f.confirmed_by)),
     ('another worker answered than confirmed it', f.review_id is null and r.created_by is distinct from f.confirmed_by),
     ('superseded by a fact about something else, or an older one', f.superseded_by is not null
        and (n.subject_id, n.name) is distinct from (f.subject_id, f.name) or n.subject_version <= f.subject_version)) x(rule, broken)
   where f.tenant_id = p_tenant_id and x.broken
  union all
  select bpm_core.violation_of('I-24', f.tenant_id, 'fact', f.id::text, 'its evidence did not come with its result',
           jsonb_build_object('subject', f.subject_id, 'name', f.name, 'task', f.task_instance_id, 'attempt', f.attempt, 'evidence', f.evidence_id))
    from (select f.*, e.id as evidence_id from bpm_core.fact f cross join lateral unnest(f.evidence_ids) e(id) where f.tenant_id = p_tenant_id and f.review_id is null) f
    left join bpm_core.result_evidence l
      on l.tenant_id = f.tenant_id and l.task_instance_id = f.task_instance_id and l.attempt = f.attempt and l.evidence_id = f.evidence_id
   where l.evidence_id is null
  union all
  select bpm_core.violation_of('I-24', f.tenant_id, 'fact', f.superseded_by::text, 'supersedes more than one fact', jsonb_build_object('superseded', array_agg(f.id)))
    from bpm_core.fact f
   where f.tenant_id = p_tenant_id and f.superseded_by is not null
   group by f.tenant_id, f.superseded_by
  having count(*) > 1
  union all
  select bpm_core.violation_of('I-24', f.tenant_id, 'subject', f.subject_id::text, 'what is said of it has no last word', jsonb_build_object('name', f.name))
    from bpm_core.fact f
   where f.tenant_id = p_tenant_id
   group by f.tenant_id, f.subject_id, f.name
  having count(*) filter (where f.superseded_by is null) <> 1
  union all
  select bpm_core.violation_of('I-24', s.tenant_id, 'subject', s.id::text, 'its version is not the number of those who spoke of it',
           jsonb_build_object('lock_version', s.lock_version, 'spoke', coalesce(f.spoke, 0), 'highest', f.highest))
    from bpm_core.subject s
    left join (select f.subject_id, count(distinct (f.task_instance_id, f.attempt, f.review_id)) as spoke, max(f.subject_version) as highest
                 from bpm_core.fact f
                where f.tenant_id = p_tenant_id
                group by f.subject_id) f on f.subject_id = s.id
   where s.tenant_id = p_tenant_id and (s.lock_version <> coalesce(f.spoke, 0) or s.lock_version <> coalesce(f.highest, 0))
  union all
  select bpm_core.violation_of('I-24', e.tenant_id, 'evidence', e.id::text, x.rule, jsonb_build_object('purged_at', e.purged_at, 'object_key', e.object_key))
    from bpm_core.evidence e
   cross join lateral (values
     ('it is not what it is known by', e.object_key is not null and e.identity_hash <> bpm_core.evidence_identity(e.sha256, e.object_key)),
     ('its purge was not audited', e.purged_at is not null and not exists (
        select
          from bpm_core.audit_event a
         where a.tenant_id = e.tenant_id and a.aggregate_type = 'evidence' and a.aggregate_id = e.id::text and a.action = 'PurgeEvidence'))) x(rule, broken)
   where e.tenant_id = p_tenant_id and x.broken
  ) q(v);
end
$$;
