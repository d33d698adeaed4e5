-- The items of a set-based command, checked for shape: an array of at most 1,000 objects with known keys.
-- Returns:  nothing.
-- Raises:   BP400 not an array of objects, unknown key, missing or ill-formed task_id or fencing_token. BP429 more than 1,000.
create or replace function bpm_core.check_items(p_items jsonb, p_id_key text, p_keys text[])
returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad bigint;
begin
  if jsonb_typeof(p_items) is distinct from 'array' then
    perform bpm_core.fail('BP400', 'The items must be a JSON array.', null, format('Pass an array of objects with %s.', array_to_string(p_keys, ', ')));
  elsif jsonb_array_length(p_items) > 1000 then
    perform bpm_core.fail('BP429', format('%s items in one call; at most 1000.', jsonb_array_length(p_items)), null, 'Split the call.');
  end if;
  -- One item is asked without a query: that costs a third.
  if jsonb_array_length(p_items) = 1 and bpm_core.is_item(p_items -> 0, p_id_key, p_keys) then
    return;
  end if;
  select i.n into v_bad
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where not bpm_core.is_item(i.item, p_id_key, p_keys)
   order by i.n
   limit 1;
  if found then
    perform bpm_core.fail('BP400', format('Item %s is not of the form this call takes.', v_bad),
      jsonb_build_object('item', v_bad, 'keys', p_keys),
      format('Each item needs %s (uuid) and fencing_token (integer); known keys: %s.', p_id_key, array_to_string(p_keys, ', ')));
  end if;
end
$$;
