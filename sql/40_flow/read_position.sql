-- Reads a picker's position as its caller kept it.
-- Returns:  pick_position; all null for none.
-- Raises:   BP400 not one of ours.
create or replace function bpm_core.read_position(p_position jsonb)
returns bpm_core.pick_position
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return jsonb_populate_record(null::bpm_core.pick_position, p_position);
exception
  when data_exception or invalid_parameter_value or datatype_mismatch then
    perform bpm_core.fail('BP400', 'The positions are not ones this function gave back.', null, 'Pass null to begin anew.');
end
$$;
