-- Follows a path of names. What leads nowhere is null; what lies behind an encrypted text is undecidable.
create or replace function bpm_core.evaluate_path(p_path jsonb, p_variables jsonb)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_value jsonb := coalesce(p_variables -> (p_path ->> 0), 'null');
begin
  for v_i in 1 .. jsonb_array_length(p_path) - 1 loop
    v_value := bpm_core.member_value(v_value, p_path ->> v_i);
  end loop;
  return v_value;
end
$$;
