-- The slots of a claim that follows closely upon another one (mark_quick): each scan begins where its position stands, without asking whether it should.
-- Types come from the call, never from the positions: these have been in the caller's hands. A loop over the types, since a query would cost more than the looks it saves.
-- Returns:  claim_slot[], in the order of the types; null where this claim has to look for itself: a type has no position, the mark has run out, lies ahead of
--           the clock, or is not ours.
create or replace function bpm_core.quick_slots(p_types text[], p_positions jsonb, p_now timestamptz)
returns bpm_core.claim_slot[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_level constant text := p_positions -> '' ->> 'level';
  v_until timestamptz;
  v_type  text;
  v_slots bpm_core.claim_slot[];
begin
  v_until := (p_positions -> '' ->> 'until')::timestamptz;
  if (p_positions ?& p_types and p_now between v_until - interval '500 milliseconds' and v_until) is not true then
    return null;
  end if;
  foreach v_type in array p_types loop
    v_slots := v_slots || row(v_type, v_level::smallint, (p_positions -> v_type -> v_level ->> 'reached_at')::timestamptz,
                              (p_positions -> v_type -> v_level ->> 'reached_id')::uuid, null, null, null)::bpm_core.claim_slot;
  end loop;
  return v_slots;
exception
  when data_exception then
    return null;
end
$$;
