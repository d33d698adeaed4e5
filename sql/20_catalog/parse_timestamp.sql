-- Reads an ISO 8601 date or date with time; without Z or an offset it is what clocks in p_zone show. Checked by arithmetic first, because a failing cast raises.
-- Returns:  timestamptz; null when it is not one.
create or replace function bpm_core.parse_timestamp(p_text text, p_zone text default 'UTC')
returns timestamptz
language plpgsql immutable
set search_path = pg_catalog, pg_temp
set timezone = 'UTC'
set datestyle = 'ISO'
as $$
declare
  v_parts text[] := regexp_match(btrim(p_text),
    '^(\d{4})-(\d\d)-(\d\d)(?:T(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d{1,9})?)?(?:Z|[+-](\d\d):?(\d\d)?)?)?$');
begin
  if v_parts is null or v_parts[1]::integer < 1 or v_parts[2]::integer not between 1 and 12
     or v_parts[4]::integer > 23 or v_parts[5]::integer > 59 or v_parts[6]::integer > 59 or v_parts[7]::integer > 14 or v_parts[8]::integer > 59 then
    return null;
  end if;
  if v_parts[3]::integer not between 1
     and extract(day from make_date(v_parts[1]::integer, v_parts[2]::integer, 1) + interval '1 month' - interval '1 day')::integer then
    return null;
  end if;
  if btrim(p_text) !~ '(Z|T.*[+-][0-9:]+)$' then
    return bpm_core.local_instant(replace(btrim(p_text), ',', '.')::timestamp, p_zone);
  end if;
  return replace(btrim(p_text), ',', '.')::timestamptz;
end
$$;
