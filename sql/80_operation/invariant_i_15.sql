-- I-15: no committed domain event is lost, and per aggregate they are published in order: numbers are without gaps and doubles from the last one that was
-- forgotten to the last one there is, the order of numbers is the order of writing, none is left behind one that was published, nobody was told of what
-- has no number yet, and nothing was forgotten that somebody still has to be told.
create or replace function bpm_core.invariant_i_15(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
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
  select bpm_core.violation_of('I-15', p_tenant_id, 'event stream', p_tenant_id, 'numbers are missing', jsonb_build_object('last', s.last_no, 'forgotten', s.forgotten_no, 'events', c.events, 'min', c.first_one, 'max', c.last_one))
    from bpm_core.event_stream s
   cross join (select count(*) as events, max(e.published_no) as last_one, min(e.published_no) as first_one
                 from bpm_core.event_outbox e where e.tenant_id = p_tenant_id and e.published_no is not null) c
   where s.tenant_id = p_tenant_id
     and (c.events <> s.last_no - s.forgotten_no or c.first_one <> s.forgotten_no + 1 or c.last_one <> s.last_no)
  union all
  select bpm_core.violation_of('I-15', p_tenant_id, 'subscription', s.code, x.rule,
           jsonb_build_object('cursor', s.cursor_no, 'last', t.last_no, 'forgotten', t.forgotten_no))
    from bpm_core.event_subscription s
    left join bpm_core.event_stream t on t.tenant_id = s.tenant_id
   cross join lateral (values
     ('told of what was not published', s.cursor_no > coalesce(t.last_no, 0)),
     ('not told of what was forgotten', s.ended_at is null and s.cursor_no < t.forgotten_no)) x(rule, broken)
   where s.tenant_id = p_tenant_id and x.broken
  ) q(v);
end
$$;
