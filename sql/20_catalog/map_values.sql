-- What mappings make of variables: one value per target, each from its compiled expression.
-- p_mappings: [{"target": name, "tree": …, "source": text}]. Returns: jsonb object, and failed: the first mapping that is undecidable, with values null.
create or replace function bpm_core.map_values(p_mappings jsonb, p_variables jsonb, out mapped jsonb, out failed jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_mapping jsonb;
  v_value   jsonb;
begin
  mapped := '{}'::jsonb;
  for v_mapping in select m.mapping from jsonb_array_elements(p_mappings) m(mapping) loop
    v_value := bpm_core.evaluate(v_mapping -> 'tree', p_variables);
    if v_value is null then
      mapped := null;
      failed := v_mapping - 'tree';
      return;
    end if;
    mapped := mapped || jsonb_build_object(v_mapping ->> 'target', v_value);
  end loop;
end
$$;
