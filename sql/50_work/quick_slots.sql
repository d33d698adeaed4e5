-- The slots of a claim that follows closely upon another one (mark_quick): where each scan begins, without asking where it should.
-- Types come from the call, never from the mark: that has been in the caller's hands.
-- Returns:  claim_slot[], in the order of the types; null where this claim has to look for itself: a type is not in the mark, it has run out, lies ahead of
--           the clock, or is not ours.
create or replace function bpm_core.quick_slots(p_types text[], p_mark jsonb, p_now timestamptz)
returns bpm_core.claim_slot[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_until timestamptz;
begin
  v_until := (p_mark ->> 'until')::timestamptz;
  if (p_mark -> 'heads' ?& p_types and p_now between v_until - interval '100 milliseconds' and v_until) is not true then
    return null;
  end if;
  return array(
    select row(y.task_type, (p_mark ->> 'level')::smallint, (h.head ->> 0)::timestamptz, (h.head ->> 1)::uuid, null, null, null)::bpm_core.claim_slot
      from unnest(p_types) with ordinality y(task_type, n)
     cross join lateral (select p_mark -> 'heads' -> y.task_type as head offset 0) h
     order by y.n);
exception
  when data_exception then
    return null;
end
$$;
