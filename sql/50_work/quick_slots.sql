-- The slots of a claim that follows closely upon another one of the same types (mark_quick): where each scan begins, without asking where it should.
-- Types come from the call, never from the mark: that has been in the caller's hands.
-- Returns:  claim_slot[]; null where this claim has to look for itself: the mark is for other types, has run out, lies ahead of the clock, or is not ours.
create or replace function bpm_core.quick_slots(p_types text[], p_mark jsonb, p_now timestamptz)
returns bpm_core.claim_slot[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_until timestamptz;
  v_level smallint;
  v_at    timestamptz[];
  v_id    uuid[];
begin
  begin
    v_until := (p_mark ->> 'until')::timestamptz;
    if p_mark -> 'types' <> to_jsonb(p_types) or p_now not between v_until - interval '100 milliseconds' and v_until then
      return null;
    end if;
    v_level := (p_mark ->> 'level')::smallint;
    v_at := translate(p_mark ->> 'at', '[]', '{}')::timestamptz[];
    v_id := translate(p_mark ->> 'id', '[]', '{}')::uuid[];
  exception
    when data_exception then
      return null;
  end;
  return array(
    select row(s.task_type, v_level, s.from_at, s.from_id, null, null, null)::bpm_core.claim_slot
      from unnest(p_types, v_at, v_id) s(task_type, from_at, from_id));
end
$$;
