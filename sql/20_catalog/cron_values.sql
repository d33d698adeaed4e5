-- One field of a cron rule without its specials: *, n, n-m, each with /step, and lists of these. A range may run over the end (FRI-MON, 22-2).
-- p_names: names of the values from p_low on. p_span: how many values there are before they begin anew.
-- Returns:  integer[], as written, not yet sorted; null when it is no such field.
create or replace function bpm_core.cron_values(p_text text, p_low integer, p_high integer, p_span integer, p_names text[] default '{}')
returns integer[]
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_values integer[] := array[]::integer[];
  v_item   text;
  v_parts  text[];
  v_from   integer;
  v_to     integer;
  v_step   integer;
begin
  if p_text is null then
    return null;
  end if;
  foreach v_item in array string_to_array(p_text, ',') loop
    v_parts := regexp_match(v_item, '^(?:(\*)|(\d{1,4}|[A-Z]{3})(?:-(\d{1,4}|[A-Z]{3}))?)(?:/(\d{1,4}))?$');
    if v_parts is null then
      return null;
    end if;
    v_from := case when v_parts[1] is not null then p_low when v_parts[2] ~ '\d' then v_parts[2]::integer else array_position(p_names, v_parts[2]) + p_low - 1 end;
    v_to := case when v_parts[3] ~ '\d' then v_parts[3]::integer when v_parts[3] is not null then array_position(p_names, v_parts[3]) + p_low - 1
                 when v_parts[1] is not null or v_parts[4] is not null then p_low + p_span - 1 else v_from end;
    v_step := coalesce(v_parts[4]::integer, 1);
    if v_from is null or v_to is null or v_from not between p_low and p_high or v_to not between p_low and p_high or v_step not between 1 and p_span then
      return null;
    end if;
    if v_to < v_from then
      v_to := v_to + p_span;
    end if;
    v_values := v_values || array(select case when n > p_high then n - p_span else n end from generate_series(v_from, v_to, v_step) n);
  end loop;
  return nullif(v_values, '{}');
end
$$;
