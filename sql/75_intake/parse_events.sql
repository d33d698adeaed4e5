-- Reads the items of accept_events. Faults of what they hold are outcomes of their item.
-- Returns:  incoming_event[], in the order given; fresh ids are drawn for every item. Wire forms are taken off the payload.
-- Raises:   BP400, BP429 ill-formed items.
create or replace function bpm_core.parse_events(p_items jsonb, p_now timestamptz)
returns bpm_core.incoming_event[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.check_event_items(p_items);
  return array(
    select row(i.n, bpm_core.new_id(), i.item ->> 'channel', coalesce(i.item ->> 'session_id', ''), i.item ->> 'thread_id', i.item ->> 'provider_event_id',
               i.item ->> 'type', d.payload, t.occurred_at, e.evidence,
               sha256(convert_to(concat_ws(chr(31), i.item ->> 'type', coalesce(i.item ->> 'thread_id', ''), case when f.fault is null then d.payload::text end, e.hashes), 'UTF8')),
               case when coalesce(f.fault, t.fault, e.fault) is not null then 'Rejected' end::bpm.outcome, coalesce(f.fault, t.fault, e.fault))::bpm_core.incoming_event
      from jsonb_array_elements(p_items) with ordinality i(item, n)
     cross join lateral (select coalesce(nullif(i.item -> 'payload', 'null'), '{}') as payload) p
     cross join lateral (select bpm_core.is_plain(p.payload) as is_plain) q
     cross join lateral (select case when not q.is_plain then bpm_core.variables_fault(p.payload) end as fault) f
     cross join lateral (select case when q.is_plain or f.fault is not null then p.payload else bpm_core.decode_variables(p.payload) end as payload) d
     cross join lateral (
       -- Of events that do not say when, the order of the items is the order in which they occurred.
       select case when i.item ->> 'occurred_at' is null then p_now + i.n * interval '1 microsecond'
                   else bpm_core.parse_timestamp(i.item ->> 'occurred_at') end) o(occurred_at)
     cross join lateral (
       select coalesce(o.occurred_at, p_now) as occurred_at,
              case when o.occurred_at is null then format('occurred_at is not an ISO 8601 time: %s', left(i.item ->> 'occurred_at', 100)) end as fault) t
     cross join lateral bpm_core.event_evidence_of(i.item -> 'evidence') e
     order by i.n);
end
$$;
