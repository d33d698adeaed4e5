-- I-15: no committed domain event is lost, and per aggregate they are published in order: numbers are without gaps and doubles up to the last one, the
-- order of numbers is the order of writing, none is left behind one that was published, and nobody was told of what has no number yet.
create or replace function bpm_core.invariant_i_15(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with event as (
    select e.*, max(e.published_no) over (partition by e.aggregate_id order by e.seq rows between unbounded preceding and 1 preceding) as before,
           max(e.seq) filter (where e.state = 'Published') over (partition by e.aggregate_id) as last_published
      from bpm_core.event_outbox e
     where e.tenant_id = p_tenant_id)
  select bpm_core.violation_of('I-15', p_tenant_id, 'event', e.id::text, x.rule,
           jsonb_build_object('type', e.event_type, 'aggregate', e.aggregate_id, 'seq', e.seq, 'state', e.state, 'published_no', e.published_no))
    from event e
   cross join lateral (values
     ('published before one that was written earlier', e.published_no < e.before),
     ('left behind', e.state = 'Pending' and e.seq < e.last_published),
     ('parked although its type is known', e.state = 'Parked' and bpm_core.is_event_type(e.event_type))) x(rule, broken)
   where x.broken
  union all
  select bpm_core.violation_of('I-15', p_tenant_id, 'event stream', p_tenant_id, 'numbers are missing', jsonb_build_object('last', s.last_no, 'events', c.events, 'max', c.last_one))
    from bpm_core.event_stream s
   cross join (select count(*) as events, coalesce(max(e.published_no), 0) as last_one, coalesce(min(e.published_no), 1) as first_one
                 from bpm_core.event_outbox e where e.tenant_id = p_tenant_id and e.published_no is not null) c
   where s.tenant_id = p_tenant_id and (c.last_one <> s.last_no or c.events <> c.last_one - c.first_one + 1)
  union all
  select bpm_core.violation_of('I-15', p_tenant_id, 'subscription', s.code, 'told of what was not published', jsonb_build_object('cursor', s.cursor_no, 'last', t.last_no))
    from bpm_core.event_subscription s
    left join bpm_core.event_stream t on t.tenant_id = s.tenant_id
   where s.tenant_id = p_tenant_id and s.cursor_no > coalesce(t.last_no, 0)
$$;
