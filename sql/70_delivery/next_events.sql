-- The next events a subscription wants. At most 5,000 are looked at.
-- Returns:  events, null when none of those is wanted; published_to, up to where it has all then.
create or replace function bpm_core.next_events(p_subscription bpm_core.event_subscription, p_limit integer, p_last bigint, out events jsonb, out published_to bigint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set enable_sort = off
as $$
declare
  v_count integer;
begin
  published_to := least(p_last, p_subscription.cursor_no + 5000);
  select jsonb_agg(x.event order by x.published_no), count(*)::integer, max(x.published_no)
    into events, v_count, p_last
    from (select e.published_no, e.payload || jsonb_build_object('published_no', e.published_no) as event
            from bpm_core.event_outbox e
           where e.published_no is not null and e.tenant_id = p_subscription.tenant_id
             and e.published_no > p_subscription.cursor_no and e.published_no <= published_to
             and (p_subscription.process_code is null or e.process_code = p_subscription.process_code)
             and (p_subscription.event_types is null or e.event_type = any (p_subscription.event_types))
           order by e.published_no
           limit p_limit) x;
  if v_count = p_limit then
    published_to := p_last;
  end if;
end
$$;
