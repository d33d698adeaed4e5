-- What an element says about its timer in our own namespace, on the definition or on the event.
-- Returns:  jsonb {time_zone, catch_up}, without those it does not say.
create or replace function bpm_core.own_timer(p_attributes jsonb, p_definition jsonb)
returns jsonb
language sql immutable parallel safe
as $$
  select jsonb_strip_nulls(jsonb_build_object(
    'time_zone', btrim(coalesce(p_definition ->> 'bpm:timeZone', p_attributes ->> 'bpm:timeZone')),
    'catch_up', btrim(coalesce(p_definition ->> 'bpm:catchUp', p_attributes ->> 'bpm:catchUp'))))
$$;
