-- I-18: same tenant, operation, key and payload -> same answer; another payload -> conflict; concurrent callers -> one effect. What is kept of a
-- key must be able to do that: a whole hash, an answer, and the instance or signal it speaks of.
create or replace function bpm_core.invariant_i_18(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  select bpm_core.violation_of('I-18', k.tenant_id, 'idempotency_key', k.operation || ' ' || k.key, x.rule,
           jsonb_build_object('instance_id', k.instance_id, 'response', k.response, 'hash_bytes', length(k.request_hash)))
    from bpm_core.idempotency_key k
    left join bpm_core.process_instance p on p.tenant_id = k.tenant_id and p.id = k.instance_id
    -- Or it was removed since: its answer stands as long as its key.
    left join bpm_core.removed_instance r on r.tenant_id = k.tenant_id and r.id = k.instance_id
    left join bpm_core.workflow_instance w on w.tenant_id = k.tenant_id and w.id = (k.response ->> 'workflow_instance_id')::uuid
    left join bpm_core.signal s on s.tenant_id = k.tenant_id and s.id = (k.response ->> 'signal_id')::uuid
   -- Or may be: signals are removed the oldest first.
   cross join lateral (
     select exists (select from bpm_core.retention_pass r where r.tenant_id = k.tenant_id and r.kind = 'signals')
            and coalesce((select g.sent_at from bpm_core.signal g where g.tenant_id = k.tenant_id order by g.id limit 1) > k.created_at, true) as removed) o
   cross join lateral (values
     ('the request hash is no sha256', length(k.request_hash) <> 32),
     ('the answer is missing', k.response is null or k.operation = 'start_process' and k.instance_id is null),
     ('the answer speaks of another instance',
      k.operation = 'start_process' and k.response is not null
      and ((k.response ->> 'process_instance_id')::uuid is distinct from k.instance_id
           or w.id is not null and w.process_instance_id is distinct from k.instance_id)),
     ('the instance was never started', k.operation = 'start_process' and k.instance_id is not null and p.id is null and r.id is null),
     ('the signal was never sent as the answer says',
      k.operation = 'broadcast_signal' and k.response is not null
      and case when s.id is null then not o.removed else (k.response ->> 'receivers')::integer is distinct from s.receivers end)) x(rule, broken)
   where k.tenant_id = p_tenant_id and x.broken
  union all
  select bpm_core.violation_of('I-18', k.tenant_id, 'idempotency_key', k.operation || ' ' || min(k.key), 'two keys answer with one instance or signal',
           jsonb_build_object('instance_id', k.instance_id, 'signal_id', k.response ->> 'signal_id', 'keys', array_agg(k.key order by k.key)))
    from bpm_core.idempotency_key k
   where k.tenant_id = p_tenant_id and (k.instance_id is not null or k.response ? 'signal_id')
   group by k.tenant_id, k.operation, k.instance_id, k.response ->> 'signal_id'
  having count(*) > 1
  ) q(v);
end
$$;
