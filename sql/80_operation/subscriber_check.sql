-- ready(): are those who subscribed to domain events told of them? One whom runners tell is far behind when an event waits for 15 minutes; one who asks
-- comes in its own time, and is when an event waits for two days.
-- Returns:  health_check; detail.behind names the 20 that wait longest.
create or replace function bpm_core.subscriber_check(p_tenant_id text)
returns bpm_core.health_check
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select row('subscribers', count(*) = 0, false, jsonb_build_object(
           'behind', coalesce(jsonb_agg(jsonb_build_object('subscription', w.code, 'events', w.behind, 'seconds', round(w.seconds, 1)) order by w.seconds desc, w.code), '[]'),
           'remedy', 'see bpm.event_subscription; bpm.unsubscribe_events()'))::bpm_core.health_check
    from (select s.code, t.last_no - s.cursor_no as behind, extract(epoch from bpm_core.now() - e.published_at) as seconds
            from bpm_core.event_stream t
            join bpm_core.event_subscription s on s.tenant_id = t.tenant_id and s.ended_at is null and s.cursor_no < t.last_no
           cross join lateral (select e.published_at from bpm_core.event_outbox e
                                where e.tenant_id = s.tenant_id and e.published_no = s.cursor_no + 1 offset 0) e
           where t.tenant_id = p_tenant_id
             and e.published_at < bpm_core.now() - case when coalesce(s.destination_code, s.notify_channel) is null then interval '2 days' else interval '15 minutes' end
           order by e.published_at, s.code
           limit 20) w
$$;
