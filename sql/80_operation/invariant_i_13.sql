-- I-13: history is append-only, its order per instance is the commit order, and every change has its row; attempts appear when they end.
create or replace function bpm_core.invariant_i_13(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-13', s.tenant_id, 'token', s.token_id::text, 'history goes back in time',
           jsonb_build_object('seq', s.seq, 'kind', s.kind, 'at', s.at, 'before', s.before))
    from (select t.tenant_id, t.token_id, t.seq, t.kind, t.at, lag(t.at) over (partition by t.token_id order by t.seq) as before
            from bpm_core.token_step t
           where t.tenant_id = p_tenant_id) s
   where s.at < s.before
  union all
  select bpm_core.violation_of('I-13', s.tenant_id, 'token', s.token_id::text, 'history does not begin with its birth, or tells of two',
           jsonb_build_object('seq', s.seq, 'kind', s.kind))
    from (select t.tenant_id, t.token_id, t.seq, t.kind, row_number() over (partition by t.token_id order by t.seq) as n
            from bpm_core.token_step t
           where t.tenant_id = p_tenant_id) s
   where case when s.n = 1 then s.kind not in ('InstanceStarted', 'TokenBorn', 'ScopeOpened') else s.kind in ('InstanceStarted', 'TokenBorn') end
  union all
  select bpm_core.violation_of('I-13', m.tenant_id, m.kind, m.id, 'a change without its row in history', m.seen)
    from (select u.* from bpm_core.unrecorded_changes(p_tenant_id) u
          union all
          select u.* from bpm_core.unrecorded_decisions(p_tenant_id) u) m
  union all
  select bpm_core.violation_of('I-13', t.tenant_id, 'task', t.id::text, 'an attempt ended without a trace',
           jsonb_build_object('attempt', t.attempt, 'state', t.state, 'ended', coalesce(e.ended, 0)))
    from bpm_core.task_instance t
    left join (select e.task_instance_id, count(*) as ended
                 from bpm_core.execution e
                where e.tenant_id = p_tenant_id
                group by e.task_instance_id) e on e.task_instance_id = t.id
   where t.tenant_id = p_tenant_id and coalesce(e.ended, 0) <> t.attempt - (t.state = 'Executing')::integer
  union all
  select bpm_core.violation_of(b.invariant, p_tenant_id, b.kind, b.id, b.rule, b.seen)
    from bpm_core.broken_bindings(p_tenant_id) b where b.invariant = 'I-13'
  ) q(v);
end
$$;
