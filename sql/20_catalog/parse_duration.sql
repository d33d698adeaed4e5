-- Reads an ISO 8601 duration: years, months, weeks, days, hours, minutes, seconds, each with an optional fraction.
-- The number of digits is limited so that no value overflows an interval, or a date once added to today.
-- Returns:  interval; null when it is not one.
create or replace function bpm_core.parse_duration(p_text text)
returns interval
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case
    when btrim(p_text) ~ ('^P(?=\d|T\d)(\d{1,4}([.,]\d{1,9})?Y)?(\d{1,6}([.,]\d{1,9})?M)?(\d{1,6}([.,]\d{1,9})?W)?(\d{1,7}([.,]\d{1,9})?D)?'
                       || '(T(?=\d)(\d{1,9}([.,]\d{1,9})?H)?(\d{1,9}([.,]\d{1,9})?M)?(\d{1,9}([.,]\d{1,9})?S)?)?$')
    then replace(btrim(p_text), ',', '.')::interval
  end
$$;
