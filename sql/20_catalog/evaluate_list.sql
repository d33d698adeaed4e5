-- The values of a list or a context. Undecidable when one is, or when it grows beyond 16 MB.
create or replace function bpm_core.evaluate_list(p_tree jsonb, p_variables jsonb, p_locals jsonb, p_budget integer)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_args   constant jsonb := p_tree -> 'args';
  v_values jsonb[] := '{}'::jsonb[];
  v_value  jsonb;
  v_size   bigint := 0::bigint;
begin
  for v_i in 0 .. jsonb_array_length(v_args) - 1 loop
    v_value := bpm_core.evaluate_tree(v_args -> v_i, p_variables, p_locals, p_budget);
    v_size := v_size + pg_column_size(v_value);
    if v_value is null or v_size > least(16777216, p_budget::bigint * 256) then
      return null;
    end if;
    v_values := v_values || v_value;
  end loop;
  if p_tree ->> 'op' = 'list' then
    return to_jsonb(v_values);
  end if;
  return coalesce((select jsonb_object_agg(k.name, v_values[k.n]) from jsonb_array_elements_text(p_tree -> 'keys') with ordinality k(name, n)), '{}');
end
$$;
