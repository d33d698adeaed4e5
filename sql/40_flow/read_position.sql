-- Reads a picker's position as its caller kept it.
-- Returns:  pick_position; null for none.
-- Raises:   BP400 not one of ours.
create or replace function bpm_core.read_position(p_position jsonb)
returns bpm_core.pick_position
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_position bpm_core.pick_position;
begin
  if p_position is null or p_position = 'null' then
    return null;
  end if;
  begin
    if bpm_core.has_position_keys(p_position) then
      v_position := jsonb_populate_record(null::bpm_core.pick_position, p_position);
      if bpm_core.is_position(v_position) then
        return v_position;
      end if;
    end if;
  exception
    when data_exception then
      null;  -- a value of ours that is no time, id or number: answered like anything else that is not ours
  end;
  perform bpm_core.fail_position();
  return null;  -- never reached: it raises
end
$$;
