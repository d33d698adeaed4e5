-- The destinations of a tenant that may be sent to now, those behind p_after first, so that every one gets its turn. At most 200.
-- Returns:  lane rows.
create or replace function bpm_core.open_lanes(p_tenant_id text, p_kinds text[], p_after uuid, p_now timestamptz)
returns setof bpm_core.lane
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select d.id, d.code, d.ordered, d.max_concurrent, d.rate_limit, d.rate_period, coalesce(g.state <> 'Closed', false)
    from bpm_core.destination d
    left join bpm_core.destination_gate g on g.tenant_id = d.tenant_id and g.destination_id = d.id
   where d.tenant_id = p_tenant_id and (p_kinds is null or d.kind = any (p_kinds))
     and (g.state is null or g.state = 'Closed' or g.probe_at <= p_now)
   order by coalesce(d.id <= p_after, false), d.id
   limit 200
$$;
