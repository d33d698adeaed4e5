-- The field day of week of a cron rule: what cron_values reads, and 6#3 or FRI#3, 5L or FRIL, and L alone (Quartz: Saturday).
-- p_low: the number of Sunday, 0 in Unix and Spring, 1 in Quartz.
-- Returns:  the sets (cron), Sunday 0; weekdays null when it is no such field.
create or replace function bpm_core.cron_weekday_field(p_text text, p_low integer, out weekdays integer[], out nth_weekdays integer[], out last_weekdays integer[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_names constant text[] := array['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
  v_item  text;
  v_plain text;
  v_parts text[];
  v_day   integer;
begin
  weekdays := array[]::integer[];
  nth_weekdays := weekdays;
  last_weekdays := weekdays;
  foreach v_item in array string_to_array(p_text, ',') loop
    v_parts := regexp_match(v_item, '^(\d|[A-Z]{3})(?:#([1-5])|(L))$');
    if v_parts is not null then
      v_day := (bpm_core.cron_values(v_parts[1], p_low, 7, 7, v_names))[1];
      if v_day is null then
        weekdays := null;
        return;
      elsif v_parts[3] is not null then
        last_weekdays := last_weekdays || (v_day - p_low) % 7;
      else
        nth_weekdays := nth_weekdays || (v_day - p_low) % 7 * 10 + v_parts[2]::integer;
      end if;
    elsif v_item = 'L' and p_low = 1 then
      weekdays := weekdays || 6;
    else
      v_plain := concat_ws(',', v_plain, v_item);
    end if;
  end loop;
  if v_plain is not null then
    weekdays := weekdays || (select array_agg((d - p_low) % 7) from unnest(bpm_core.cron_values(v_plain, p_low, 7, 7, v_names)) d);
    if bpm_core.cron_values(v_plain, p_low, 7, 7, v_names) is null then
      weekdays := null;
    end if;
  end if;
end
$$;
