-- The shape of positions as a caller hands them back: an object whose values are all of one JSON type.
-- p_type: 'object' where each picker has one position, 'array' where each task type has one per priority level.
-- Raises:   BP400 not ones of ours.
create or replace function bpm_core.check_positions(p_positions jsonb, p_type text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_positions is null or p_positions = 'null' then
    return;
  elsif jsonb_typeof(p_positions) <> 'object'
        or jsonb_path_exists(p_positions, 'strict $.* ? (@.type() != $type)', jsonb_build_object('type', p_type)) then
    perform bpm_core.fail_position();
  end if;
end
$$;
