-- ready(): is what the settings let go really removed? Not when no pass has come to its end for a week.
-- Returns:  health_check; detail {overdue: [kinds], remedy}.
create or replace function bpm_core.retention_check(p_tenant_id text)
returns bpm_core.health_check
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_overdue jsonb;
begin
  select coalesce(jsonb_agg(k.kind order by k.kind), '[]') into v_overdue
    from (select x.kind, x.tenant_id, max(s.updated_at) as set_at
            from (values ('instances', p_tenant_id, 'retention.instance_days'), ('instances', p_tenant_id, 'retention.process_days'),
                         ('events', p_tenant_id, 'retention.event_days'), ('messages', p_tenant_id, 'retention.event_days'),
                         ('signals', p_tenant_id, 'retention.event_days'),
                         ('history', '', 'retention.history_months')) x(kind, tenant_id, name)
            join bpm_core.setting s on s.name = x.name
           group by x.kind, x.tenant_id) k
    left join bpm_core.retention_pass r on r.tenant_id = k.tenant_id and r.kind = k.kind
   where coalesce(r.done_at, k.set_at) < bpm_core.now() - interval '7 days';
  return row('retention', v_overdue = '[]', false, jsonb_build_object('overdue', v_overdue, 'remedy', 'pgbpm maintain'))::bpm_core.health_check;
end
$$;
