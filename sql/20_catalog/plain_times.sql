-- A value as it leaves an evaluation: times as plain ISO 8601 text, wherever they stand in it.
create or replace function bpm_core.plain_times(p_value jsonb)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if jsonb_typeof(p_value) = 'string' then
    return case when p_value #>> '{}' ~ '^__(date|instant|time|duration):' then to_jsonb(regexp_replace(p_value #>> '{}', '^__[a-z]+:', '')) else p_value end;
  elsif p_value::text !~ '"__(date|instant|time|duration):' then
    return p_value;
  end if;
  return regexp_replace(p_value::text, '"__(date|instant|time|duration):', '"', 'g')::jsonb;
end
$$;
