-- The shape of the items of start_processes.
-- Returns:  true, as enter_call.
-- Raises:   BP400 not an array of objects, unknown key, code missing, key or business key empty or longer than 300 characters. BP429 over 1,000.
create or replace function bpm_core.check_start_items(p_items jsonb)
returns boolean
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys constant text[] := array['code', 'variables', 'business_key', 'idempotency_key', 'version'];
  v_bad  bigint;
begin
  if jsonb_typeof(p_items) is distinct from 'array' then
    perform bpm_core.fail('BP400', 'The items must be a JSON array.', null, 'Pass an array of objects with code, variables, business_key, idempotency_key, version.');
  elsif jsonb_array_length(p_items) > 1000 then
    perform bpm_core.fail('BP429', format('%s items in one call; at most 1000.', jsonb_array_length(p_items)), null, 'Split the call.');
  end if;
  -- One item is asked without a query: that costs a third.
  if jsonb_array_length(p_items) = 1 and bpm_core.is_start_item(p_items -> 0) then
    return true;
  end if;
  select i.n into v_bad
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where not bpm_core.is_start_item(i.item)
   order by i.n
   limit 1;
  if v_bad is not null then
    perform bpm_core.fail('BP400', format('Item %s is not of the form this call takes.', v_bad), jsonb_build_object('item', v_bad, 'keys', v_keys),
      'code is text; version a whole number; business_key and idempotency_key text of 1 to 300 characters.');
  end if;
  return true;
end
$$;
