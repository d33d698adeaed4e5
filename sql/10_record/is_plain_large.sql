-- The part of is_plain for what has more than a thousand bytes, or a text of over four thousand. A function of its own, so that its expressions
-- are not made ready with every call that has small ones.
-- Returns:  boolean.
create or replace function bpm_core.is_plain_large(p_variables jsonb)
returns boolean
language plpgsql stable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_size constant integer := pg_column_size(p_variables || '{}');
begin
  return v_size <= 65536 and not (v_size > 4000 and jsonb_path_exists(p_variables, '$.**{501}')) and not bpm_core.has_huge_number(p_variables);
end
$$;
