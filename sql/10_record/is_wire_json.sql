-- Is this text the wire form __var:1: followed by JSON?
-- Returns:  boolean.
create or replace function bpm_core.is_wire_json(p_text text)
returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return starts_with(p_text, '__var:1:') and substr(p_text, 9)::jsonb is not null;
exception
  when data_exception then
    return false;
end
$$;
