-- Applies compiled mappings in their order; a later one sees what an earlier one gave.
-- p_mappings: [{target: [names], source, tree}], as drawn_mappings compiles them.
-- Returns:  mapped, the variables the targets name; or problem, and detail with the values seen: one could not be evaluated.
create or replace function bpm_core.map_values(p_mappings jsonb, p_variables jsonb, out mapped jsonb, out problem text, out detail jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mapping jsonb;
  v_value   jsonb;
begin
  mapped := '{}';
  for v_mapping in select m from jsonb_array_elements(p_mappings) m loop
    v_value := bpm_core.evaluate(v_mapping -> 'tree', p_variables, mapped);
    if v_value is null then
      problem := format('the mapping %s of %s cannot be evaluated', v_mapping ->> 'source', array_to_string(array(select jsonb_array_elements_text(v_mapping -> 'target')), '.'));
      detail := jsonb_build_object('expression', v_mapping ->> 'source', 'target', v_mapping -> 'target',
                                   'seen', bpm_core.describe_tree(v_mapping -> 'tree', p_variables || mapped));
      mapped := null;
      return;
    end if;
    mapped := bpm_core.put_value(mapped, array(select jsonb_array_elements_text(v_mapping -> 'target')), v_value);
  end loop;
  if not bpm_core.is_plain(mapped) and bpm_core.variables_fault(mapped) is not null then
    problem := 'what the mappings give is refused: ' || bpm_core.variables_fault(mapped);
    detail := '{}';
    mapped := null;
  end if;
end
$$;
