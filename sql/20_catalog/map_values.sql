-- Applies compiled mappings in their order; a later one sees what an earlier one gave. What is on the way of a dotted target is made.
-- p_mappings: [{"target": name or dotted path, "source": text, "tree": …}].
-- Returns:  mapped, the variables the targets name; null when one is undecidable: then failed is that mapping (target, source), problem says so, and
--           detail shows the values seen.
create or replace function bpm_core.map_values(p_mappings jsonb, p_variables jsonb, out mapped jsonb, out failed jsonb, out problem text, out detail jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mapping jsonb;
  v_value   jsonb;
begin
  mapped := '{}'::jsonb;
  for v_mapping in select m from jsonb_array_elements(p_mappings) m loop
    v_value := bpm_core.evaluate(v_mapping -> 'tree', p_variables, mapped);
    if v_value is null then
      failed := v_mapping - 'tree';
      problem := format('the mapping %s of %s cannot be evaluated', v_mapping ->> 'source', v_mapping ->> 'target');
      detail := jsonb_build_object('expression', v_mapping ->> 'source', 'target', v_mapping -> 'target',
                                   'seen', bpm_core.describe_tree(v_mapping -> 'tree', p_variables || mapped));
      mapped := null;
      return;
    end if;
    mapped := bpm_core.put_value(mapped, string_to_array(v_mapping ->> 'target', '.'), v_value);
  end loop;
  if not bpm_core.is_plain(mapped) and bpm_core.variables_fault(mapped) is not null then
    failed := '{}'::jsonb;
    problem := 'what the mappings give is refused: ' || bpm_core.variables_fault(mapped);
    detail := '{}'::jsonb;
    mapped := null;
  end if;
end
$$;
