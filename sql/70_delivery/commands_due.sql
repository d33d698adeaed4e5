-- When does the next command fall due after p_after? To a destination whose breaker is open not before it is tried; to one whose rate is used up
-- when it is not any more.
-- Returns:  timestamptz, null when none is planned.
create or replace function bpm_core.commands_due(p_tenant_id text, p_after timestamptz)
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
begin
  return (
    select min(case when g.probe_at is not null or g.state = 'Open' then greatest(g.probe_at, p_after, o.available_at)
                    when o.available_at <= p_after then s.free_at else o.available_at end)
      from bpm_core.destination d
      left join lateral (select g.state, g.probe_at from bpm_core.destination_gate g where g.tenant_id = d.tenant_id and g.destination_id = d.id offset 0) g on true
      left join lateral (
        select min(s.free_at) as free_at
          from bpm_core.destination_slot s
         where s.tenant_id = d.tenant_id and s.destination_id = d.id and s.kind = 'Rate' and s.slot <= d.rate_limit and s.free_at > p_after) s
        on d.rate_limit is not null
     cross join lateral (
        select o.available_at
          from bpm_core.outbox o
         where o.state = 'Pending' and o.tenant_id = p_tenant_id and o.destination_id = d.id and o.available_at < 'infinity'
           and o.available_at > case when g.probe_at is not null or s.free_at is not null then '-infinity' else p_after end
         order by o.available_at
         limit 1) o
     where d.tenant_id = p_tenant_id and not coalesce(g.state = 'Open' and g.probe_at is null, false));
end
$$;
