-- The field day of month of a cron rule: what cron_values reads, and L, L-3, LW, L-3W, 15W.
-- Returns:  the sets (cron); days null when it is no such field.
create or replace function bpm_core.cron_day_field(p_text text, out days integer[], out last_days integer[], out near_days integer[], out near_last integer[])
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_item  text;
  v_plain text;
  v_parts text[];
begin
  days := array[]::integer[];
  last_days := days;
  near_days := days;
  near_last := days;
  foreach v_item in array string_to_array(p_text, ',') loop
    v_parts := regexp_match(v_item, '^L(?:-([12]?\d|30))?(W)?$');
    if v_parts is not null then
      if v_parts[2] is null then
        last_days := last_days || coalesce(v_parts[1]::integer, 0);
      else
        near_last := near_last || coalesce(v_parts[1]::integer, 0);
      end if;
    elsif v_item ~ '^([1-9]|[12]\d|3[01])W$' then
      near_days := near_days || rtrim(v_item, 'W')::integer;
    else
      v_plain := concat_ws(',', v_plain, v_item);
    end if;
  end loop;
  if v_plain is not null then
    days := bpm_core.cron_values(v_plain, 1, 31, 31);
  end if;
end
$$;
