-- Is this text the wire form __var:1: followed by JSON, not nested deeper than variables may be?
-- Returns:  boolean.
create or replace function bpm_core.is_wire_json(p_text text)
returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
  return starts_with(p_text, '__var:1:') and not jsonb_path_exists(substr(p_text, 9)::jsonb, '$.**{499}');
exception
  -- Nested beyond what the parser's stack holds is too complex a statement to PostgreSQL.
  when data_exception or statement_too_complex then
    return false;
end
$$;
