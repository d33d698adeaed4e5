-- Reads an ISO 8601 repeating interval: R[n]/[start/]duration or R[n]/duration/end. Without n (or with -1) it repeats for ever, or until its end.
-- At most once per second: a faster one would keep tick from ever finding nothing to do.
-- Returns:  repeats (null: for ever), starts_at (null: now), step, ends_at (its last point, null: none); all null when it is not one.
create or replace function bpm_core.parse_cycle(
  p_text text, p_zone text default 'UTC', out repeats integer, out starts_at timestamptz, out step interval, out ends_at timestamptz)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_parts text[] := regexp_match(btrim(p_text), '^R(-1|\d{1,8})?/([^/]+)(?:/([^/]+))?$');
  v_ends  boolean := v_parts[3] is not null and v_parts[2] ~ '^\s*P';
begin
  step := bpm_core.parse_duration(case when v_ends or v_parts[3] is null then v_parts[2] else v_parts[3] end);
  starts_at := bpm_core.parse_timestamp(case when not v_ends and v_parts[3] is not null then v_parts[2] end, p_zone);
  ends_at := bpm_core.parse_timestamp(case when v_ends then v_parts[3] end, p_zone);
  repeats := nullif(v_parts[1]::integer, -1);
  if (v_parts[3] is not null and starts_at is null and ends_at is null) or repeats = 0 or step < interval '1 second' then
    repeats := null;
    starts_at := null;
    step := null;
    ends_at := null;
  end if;
end
$$;
