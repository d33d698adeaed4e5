-- Is this a result we keep? One of at most as many bytes as a map of variables may have; what is larger belongs into a store of its own.
-- Returns:  text, what is wrong; null when nothing is.
create or replace function bpm_core.result_fault(p_result jsonb)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_size  integer;
  v_limit integer;
begin
  if bpm_core.has_huge_number(p_result) then
    return 'A result holds a number of more than 1,000 digits.';
  end if;
  v_size := octet_length(p_result::text);  -- not pg_column_size: a value from a table may arrive compressed
  if v_size > 65536 then
    v_limit := (bpm_core.setting_value('engine.max_variables_bytes', '1048576'))::integer;
    if v_size > v_limit then
      return format('A result of %s bytes exceeds the limit of %s bytes.', v_size, v_limit);
    end if;
  end if;
  return null;
end
$$;
