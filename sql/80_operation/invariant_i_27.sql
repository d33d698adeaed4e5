-- I-27: live_tokens equals the count, and every reference that is not a foreign key points at a row (orphans).
create or replace function bpm_core.invariant_i_27(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select bpm_core.violation_of('I-27', w.tenant_id, 'workflow_instance', w.id::text, 'live_tokens is not the count',
           jsonb_build_object('live_tokens', w.live_tokens, 'counted', coalesce(k.live, 0)))
    from bpm_core.workflow_instance w
    left join (select k.workflow_instance_id, count(*) as live
                 from bpm_core.token k
                where k.tenant_id = p_tenant_id and k.state in ('Ready', 'Executing', 'Waiting', 'Failed')
                group by k.workflow_instance_id) k on k.workflow_instance_id = w.id
   where w.tenant_id = p_tenant_id and w.live_tokens <> coalesce(k.live, 0)
  union all
  select bpm_core.violation_of('I-27', p_tenant_id, o.kind, o.id, 'orphan', jsonb_build_object('refers_to', o.refers_to, 'which', o.which))
    from bpm_core.orphans_of_catalog(p_tenant_id) o
  union all
  select bpm_core.violation_of('I-27', p_tenant_id, o.kind, o.id, 'orphan', jsonb_build_object('refers_to', o.refers_to, 'which', o.which))
    from bpm_core.orphans_of_instances(p_tenant_id) o
  union all
  select bpm_core.violation_of('I-27', p_tenant_id, o.kind, o.id, 'orphan', jsonb_build_object('refers_to', o.refers_to, 'which', o.which))
    from bpm_core.orphans_of_tasks(p_tenant_id) o
$$;
