-- The moment a value names: an ISO 8601 date with or without time, or a duration from now.
-- Returns:  timestamptz; null when it is neither.
create or replace function bpm_core.moment_of(p_value jsonb)
returns timestamptz
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  return case when jsonb_typeof(p_value) = 'string'
    then coalesce(bpm_core.parse_timestamp(p_value #>> '{}'), bpm_core.now() + bpm_core.parse_duration(p_value #>> '{}')) end;
end
$$;
