-- Reads a picker's position as its caller kept it.
-- Returns:  pick_position; null for none.
-- Raises:   BP400 not one of ours.
create or replace function bpm_core.read_position(p_position jsonb)
returns bpm_core.pick_position
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys constant text[] := array['reached_at', 'reached_id', 'safe_at', 'mark_at', 'horizon', 'checked_at', 'check_cost', 'full_at'];
  v_position bpm_core.pick_position;
begin
  if p_position is null or p_position = 'null' then
    return null;
  end if;
  begin
    if jsonb_typeof(p_position) = 'object' and p_position - v_keys = '{}' then
      v_position := jsonb_populate_record(null::bpm_core.pick_position, p_position);
      -- Times and costs far outside of any clock are forged, and could not be counted with.
      if coalesce(least(nullif(v_position.reached_at, '-infinity'), nullif(v_position.safe_at, '-infinity'), nullif(v_position.mark_at, '-infinity'),
                        nullif(v_position.checked_at, '-infinity'), nullif(v_position.full_at, '-infinity')) >= timestamptz '0001-01-01Z', true)
         and coalesce(greatest(v_position.reached_at, v_position.safe_at, v_position.mark_at, v_position.checked_at, v_position.full_at)
                      <= timestamptz '9999-01-01Z', true)
         and coalesce(v_position.check_cost between interval '-10000 days' and interval '10000 days', true) then
        return v_position;
      end if;
    end if;
  exception
    when data_exception then
      null;  -- a value of ours that is no time, id or number: answered like anything else that is not ours
  end;
  perform bpm_core.fail('BP400', 'The positions are not ones this function gave back.', null, 'Pass null to begin anew.');
  return null;  -- never reached: fail raises
end
$$;
