-- When the clocks of a zone were moved between two instants with different offsets.
-- Returns:  timestamptz, the first whole second with the new offset.
create or replace function bpm_core.zone_shift(p_zone text, p_from timestamptz, p_to timestamptz)
returns timestamptz
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_low    bigint := floor(extract(epoch from p_from))::bigint;
  v_high   bigint := ceil(extract(epoch from p_to))::bigint;
  v_offset interval := (to_timestamp(v_low) at time zone p_zone) - (to_timestamp(v_low) at time zone 'UTC');
  v_middle bigint;
begin
  while v_high - v_low > 1 loop
    v_middle := (v_low + v_high) / 2;
    if (to_timestamp(v_middle) at time zone p_zone) - (to_timestamp(v_middle) at time zone 'UTC') = v_offset then
      v_low := v_middle;
    else
      v_high := v_middle;
    end if;
  end loop;
  return to_timestamp(v_high);
end
$$;
