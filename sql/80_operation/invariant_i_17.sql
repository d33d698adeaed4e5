-- I-17: compensation: only completed steps, in descending order, one at a time, never twice. As the ledger and history tell it.
create or replace function bpm_core.invariant_i_17(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  with told as materialized (
    select h.workflow_instance_id, h.seq, h.kind::text as kind, h.token_id, (h.detail ->> 'record')::uuid as record_id, (h.detail ->> 'position')::integer as position,
           (h.detail ->> 'visit')::integer as visit
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id and h.kind in ('CompensationRecorded', 'CompensationStarted', 'CompensationCompleted', 'CompensationFailed')),
  counted as (
    select t.record_id, count(*) filter (where t.kind = 'CompensationRecorded') as recorded, count(*) filter (where t.kind = 'CompensationStarted') as started,
           count(*) filter (where t.kind = 'CompensationCompleted') as completed, count(*) filter (where t.kind = 'CompensationFailed') as failed
      from told t group by t.record_id)
  select bpm_core.violation_of('I-17', r.tenant_id, 'compensation_record', r.id::text, x.rule,
           jsonb_build_object('node', r.node_id, 'position', r.position, 'status', r.status, 'recorded', coalesce(c.recorded, 0), 'started', coalesce(c.started, 0),
                              'completed', coalesce(c.completed, 0), 'failed', coalesce(c.failed, 0), 'handler_scope', s.state))
    from bpm_core.compensation_record r
    join bpm_core.workflow_instance w on w.tenant_id = r.tenant_id and w.id = r.workflow_instance_id
    left join counted c on c.record_id = r.id
    left join bpm_core.scope s on s.tenant_id = r.tenant_id and s.id = r.handler_scope_id
   cross join lateral (values
     ('not recorded once, by a step that was completed', coalesce(c.recorded, 0) <> 1),
     ('undone more than once', coalesce(c.completed, 0) + coalesce(c.failed, 0) > 1),
     ('undone, or not, unlike history', (r.status = 'Completed') <> (coalesce(c.completed, 0) > 0) or (r.status = 'Failed') <> (coalesce(c.failed, 0) > 0)),
     ('over before it began', r.status <> 'Pending' and (coalesce(c.started, 0) = 0 or s.state = 'Open')),
     ('its handler ended, and it did not', r.status = 'Pending' and s.state = 'Completed')) x(rule, broken)
   where r.tenant_id = p_tenant_id and w.created_at >= (select bpm_core.history_since()) and x.broken
  union all
  select bpm_core.violation_of('I-17', p_tenant_id, 'workflow_instance', t.workflow_instance_id::text, 'positions do not grow in the order of completion',
           jsonb_build_object('record', t.record_id, 'position', t.position, 'before', t.before))
    from (select t.*, lag(t.position) over (partition by t.workflow_instance_id order by t.seq) as before from told t where t.kind = 'CompensationRecorded') t
   where t.position <= t.before
  union all
  select bpm_core.violation_of('I-17', p_tenant_id, 'token', t.token_id::text, 'not in descending order, or not one after the other',
           jsonb_build_object('record', t.record_id, 'position', t.position, 'before', t.before, 'kind', t.kind, 'kind_before', t.kind_before))
    from (select t.*, lag(t.position) over w as before, lag(t.kind) over w as kind_before
            from told t
           where t.kind in ('CompensationStarted', 'CompensationCompleted', 'CompensationFailed')
          window w as (partition by t.token_id, t.visit order by t.seq)) t
   where case when t.kind = 'CompensationStarted' then t.kind_before <> 'CompensationCompleted' or t.position >= t.before
              else t.kind_before is distinct from 'CompensationStarted' or t.position <> t.before end
  union all
  select bpm_core.violation_of('I-17', p_tenant_id, 'token', s.host_token_id::text, 'several handlers at once', jsonb_build_object('handlers', count(*)))
    from bpm_core.scope s
   where s.tenant_id = p_tenant_id and s.is_copy and s.state = 'Open'
   group by s.host_token_id
  having count(*) > 1
  ) q(v);
end
$$;
