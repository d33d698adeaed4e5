-- Some, every, for and filters. The items share the work allowed; when a share is less than the body needs, or a result larger, nothing
-- is decided. In a filter the names are those of the item, and item itself.
create or replace function bpm_core.evaluate_loop(p_tree jsonb, p_variables jsonb, p_locals jsonb, p_budget integer)
returns jsonb
language plpgsql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
declare
  v_op      constant text := p_tree ->> 'op';
  v_body    constant jsonb := p_tree -> 'body';
  v_list    constant jsonb := bpm_core.evaluate_tree(p_tree -> 'list', p_variables, p_locals, p_budget);
  v_share   integer;
  v_item    jsonb;
  v_value   jsonb;
  v_verdict boolean;
  v_unsure  boolean := false;
  v_found   jsonb[] := '{}'::jsonb[];
begin
  if jsonb_typeof(v_list) is distinct from 'array' then
    return null;
  end if;
  v_share := p_budget / greatest(jsonb_array_length(v_list), 1);
  if v_share < (p_tree ->> 'weight')::integer then
    return null;
  end if;
  for v_item in select i from jsonb_array_elements(v_list) i loop
    v_value := bpm_core.evaluate_tree(v_body, p_variables,
      p_locals || case when v_op <> 'filter' then jsonb_build_object(p_tree ->> 'var', v_item)
                       when jsonb_typeof(v_item) = 'object' then v_item || jsonb_build_object('item', v_item)
                       else jsonb_build_object('item', v_item) end, v_share);
    if v_op = 'for' then
      if v_value is null or pg_column_size(v_value) > v_share * 256 then
        return null;
      end if;
      v_found := v_found || v_value;
      continue;
    end if;
    v_verdict := bpm_core.truth(v_body, v_value);
    if v_op = 'filter' and v_verdict then
      v_found := v_found || v_item;
    elsif v_op <> 'filter' and v_verdict = (v_op = 'some') then
      return to_jsonb(v_verdict);
    end if;
    v_unsure := v_unsure or v_verdict is null;
  end loop;
  return case when v_unsure then null when v_op in ('for', 'filter') then to_jsonb(v_found) else to_jsonb(v_op = 'every') end;
end
$$;
