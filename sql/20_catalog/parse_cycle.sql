-- Reads an ISO 8601 repeating interval: R[n]/[start/]duration. Without n (or with -1) it repeats for ever.
-- At most once per second: a faster one would keep tick from ever finding nothing to do.
-- Returns:  repeats (null: for ever), starts_at (null: now), step; all null when it is not one.
create or replace function bpm_core.parse_cycle(p_text text, out repeats integer, out starts_at timestamptz, out step interval)
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[] := regexp_match(btrim(p_text), '^R(-1|\d{1,8})?/(?:([^/]+)/)?([^/]+)$');
begin
  starts_at := bpm_core.parse_timestamp(v_parts[2]);
  step := bpm_core.parse_duration(v_parts[3]);
  repeats := nullif(v_parts[1]::integer, -1);
  if (v_parts[2] is not null and starts_at is null) or repeats = 0 or step < interval '1 second' then
    repeats := null;
    starts_at := null;
    step := null;
  end if;
end
$$;
