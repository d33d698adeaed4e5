-- Reads a time as an evaluation holds it, or as people write it.
-- Returns:  kind (date, instant, time, duration; null: it is none), at of a date or instant, span of a time of day or duration.
create or replace function bpm_core.read_time(p_text text, out kind text, out at timestamptz, out span interval)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text constant text := regexp_replace(btrim(p_text), '^__(date|instant|time|duration):', '');
begin
  if length(v_text) > 60 then
    return;
  elsif v_text ~ '^-?P' then
    span := case when v_text ~ '^P.*-' then v_text::interval when starts_with(v_text, '-') then -bpm_core.parse_duration(substr(v_text, 2)) else bpm_core.parse_duration(v_text) end;
    kind := case when span is not null then 'duration' end;
  elsif v_text ~ '^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$' then
    span := v_text::interval;
    kind := 'time';
  else
    at := bpm_core.parse_timestamp(v_text);
    kind := case when at is null or at not between '0001-01-01Z' and '9999-12-31Z' then null when v_text ~ 'T' then 'instant' else 'date' end;
  end if;
exception
  when data_exception then
    kind := null;
end
$$;
