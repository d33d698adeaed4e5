-- Whether there is something at a path, be it null.
-- Returns:  boolean; null behind an encrypted text.
create or replace function bpm_core.path_defined(p_path jsonb, p_variables jsonb)
returns boolean
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last  constant integer := jsonb_array_length(p_path) - 1;
  v_owner jsonb := case when v_last = 0 then p_variables else bpm_core.evaluate_path(p_path - v_last, p_variables) end;
begin
  return case when bpm_core.is_hidden(v_owner) then null else jsonb_typeof(v_owner) = 'object' and v_owner ? (p_path ->> v_last) end;
end
$$;
