-- Schedules the start timers of a version. p_before: how those of the version before it stood.
-- Writes:   timer. One that will not fire any more gets a row that says so: Cancelled, none remaining.
create or replace function bpm_core.schedule_starts(p_tenant_id text, p_process_version_id uuid, p_before bpm_core.timer[], p_now timestamptz)
returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
  insert into bpm_core.timer (tenant_id, id, process_version_id, node_id, kind, rule, time_zone, anchor_at, scheduled_at, due_at, remaining, catch_up, status)
  select p_tenant_id, bpm_core.new_id(), p_process_version_id, n.node_id, r.kind, n.timer_rule, z.zone,
         coalesce(o.anchor_at, f.anchor_at, p_now), s.scheduled_at, greatest(s.scheduled_at, p_now),
         case when s.live then coalesce(o.remaining, f.remaining) else 0 end, n.catch_up,
         case when s.live then 'Scheduled' else 'Cancelled' end::bpm_core.timer_status
    from bpm_core.start_nodes(p_tenant_id, p_process_version_id) n
   cross join lateral (select bpm_core.timer_kind(n.timer_kind, x.rule) as kind, x.zone from bpm_core.split_zone(n.timer_rule) x) r
   cross join lateral (select coalesce(r.zone, n.time_zone, bpm_core.default_zone()) as zone) z
    left join unnest(p_before) o
      on o.node_id = n.node_id and o.rule = n.timer_rule and o.time_zone = z.zone and (o.status = 'Scheduled' or o.remaining = 0)
    left join lateral (select x.* from bpm_core.timer_first(n.timer_kind, n.timer_rule, p_now, z.zone) x where o.id is null) f on true
   cross join lateral (select coalesce(o.scheduled_at, f.scheduled_at, p_now) as scheduled_at,
                              coalesce(o.status = 'Scheduled', f.scheduled_at is not null) as live) s
   where n.kind = 'TimerStart'
$$;
