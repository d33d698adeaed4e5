-- Is this the name of a time zone the server knows? Of regions, UTC or GMT; no offsets, no abbreviations and no POSIX rules, whose signs are upside down.
create or replace function bpm_core.known_zone(p_zone text)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_zone is null or length(p_zone) > 100 or p_zone !~ '^[A-Za-z][A-Za-z_]+(/[A-Za-z][A-Za-z0-9_+-]*)*$' then
    return false;
  end if;
  -- An abbreviation is an offset, not a zone, and which one differs from country to country (IST).
  if p_zone !~ '/' and upper(p_zone) not in ('UTC', 'GMT') and exists (select from pg_timezone_abbrevs a where a.abbrev = upper(p_zone)) then
    return false;
  end if;
  -- Asked by using it: the list of zones is read from disk, file by file.
  perform timestamptz '2000-01-01Z' at time zone p_zone;
  return true;
exception
  when invalid_parameter_value then
    return false;
end
$$;
