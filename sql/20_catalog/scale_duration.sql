-- A duration times a number.
-- Returns:  jsonb; null when it is no duration, or the result is out of range.
create or replace function bpm_core.scale_duration(p_text text, p_factor numeric)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
set intervalstyle = 'iso_8601'
as $$
declare
  v_span constant interval := (select t.span from bpm_core.read_time(p_text) t where t.kind = 'duration');
begin
  return case when abs(extract(epoch from v_span)) * abs(p_factor) < 1e11 and abs(p_factor) < 1e11 then to_jsonb('__duration:' || (v_span * p_factor::double precision)::text) end;
end
$$;
