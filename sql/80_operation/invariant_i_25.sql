-- I-25: a review decides only the version it expected: the result it is of has the content it was asked for, one review of a result stands, and a result that
-- waits for one is not in effect before it is approved.
create or replace function bpm_core.invariant_i_25(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-25', r.tenant_id, 'review', r.id::text, x.rule,
           jsonb_build_object('state', r.state, 'decision', r.decision, 'expected_version', r.expected_version, 'verdict', t.verdict))
    from bpm_core.review r
    left join bpm_core.result t on t.tenant_id = r.tenant_id and t.task_instance_id = r.task_instance_id and t.attempt = r.attempt
    left join bpm_core.review s on s.tenant_id = r.tenant_id and s.id = r.superseded_by
   cross join lateral (values
     ('its result is another one', t.content_hash is distinct from r.content_hash),
     ('its result needs no review', t.verdict is distinct from 'NeedsReview'),
     ('decided by who gave the result', r.actor = t.created_by),
     ('superseded by a review of something else, or of no later version',
      s.id is not null and ((s.task_instance_id, s.attempt) is distinct from (r.task_instance_id, r.attempt) or s.expected_version <= r.expected_version)),
     ('decided about another version than there was', r.decision = 'Approve' and exists (
        select
          from bpm_core.fact f
         where f.tenant_id = r.tenant_id and f.review_id = r.id
        having sum(f.subject_version - 1) filter (where f.id = any (array(
                 select distinct on (o.subject_id) o.id from bpm_core.fact o where o.tenant_id = r.tenant_id and o.review_id = r.id order by o.subject_id, o.id)))
               <> r.expected_version))) x(rule, broken)
   where r.tenant_id = p_tenant_id and x.broken
  union all
  select bpm_core.violation_of('I-25', t.tenant_id, 'result', t.task_instance_id::text, 'nobody was asked to review it', jsonb_build_object('attempt', t.attempt))
    from bpm_core.result t
   where t.tenant_id = p_tenant_id and t.verdict = 'NeedsReview'
     and not exists (select from bpm_core.review r where r.tenant_id = t.tenant_id and r.task_instance_id = t.task_instance_id and r.attempt = t.attempt)
  union all
  select bpm_core.violation_of('I-25', r.tenant_id, 'review', r.id::text, 'in effect, but not approved', jsonb_build_object('state', r.state))
    from bpm_core.review r
    join bpm_core.history_event h on h.tenant_id = r.tenant_id and h.workflow_instance_id = r.workflow_instance_id and h.kind = 'TaskCompleted'
     and h.detail ->> 'task' = r.task_instance_id::text and h.detail ->> 'attempt' = r.attempt::text
   where r.tenant_id = p_tenant_id and r.state <> 'Superseded' and r.decision is distinct from 'Approve'
  ) q(v);
end
$$;
