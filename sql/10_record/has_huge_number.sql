-- Does a value hold a number of more than a thousand digits before the point, or as far behind it? 1e131071 is kept in 16 bytes and written in 128 KiB: a megabyte
-- of such numbers has no text that a server can hold, and every hash, check or look at it would fail. Zeros behind the point (0e-16383) look like zero; only many do harm.
create or replace function bpm_core.has_huge_number(p_value jsonb)
returns boolean
language sql stable parallel safe
as $$
  select jsonb_path_exists(p_value, 'strict $.** ? (@.type() == "number" && (@ >= 1e1000 || @ <= -1e1000 || @ != 0 && @ < 1e-1000 && @ > -1e-1000))')
         or pg_column_size(p_value || '{}') > 65536
            and exists (select from jsonb_path_query(p_value, 'strict $.** ? (@.type() == "number")') n where scale(n::numeric) > 1000)
$$;
