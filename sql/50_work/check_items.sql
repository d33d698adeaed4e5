-- The items of a set-based command, checked for shape: an array of at most 1,000 objects with known keys.
-- Returns:  nothing.
-- Raises:   BP400 not an array of objects, unknown key, missing or ill-formed task_id or fencing_token. BP429 more than 1,000.
create or replace function bpm_core.check_items(p_items jsonb, p_id_key text, p_keys text[])
returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  r_bad record;
begin
  if jsonb_typeof(p_items) is distinct from 'array' then
    perform bpm_core.fail('BP400', 'The items must be a JSON array.', null, format('Pass an array of objects with %s.', array_to_string(p_keys, ', ')));
  elsif jsonb_array_length(p_items) > 1000 then
    perform bpm_core.fail('BP429', format('%s items in one call; at most 1000.', jsonb_array_length(p_items)), null, 'Split the call.');
  end if;
  select i.item, i.n into r_bad
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where case when jsonb_typeof(i.item) <> 'object' then true
              else (i.item ->> p_id_key) is null
                   or (i.item ->> p_id_key) !~* '^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$'
                   or jsonb_typeof(i.item -> 'fencing_token') is distinct from 'number'
                   or (i.item ->> 'fencing_token') !~ '^[0-9]{1,18}$'
                   or i.item - p_keys <> '{}' end
   order by i.n
   limit 1;
  if found then
    perform bpm_core.fail('BP400', format('Item %s is not of the form this call takes.', r_bad.n),
      jsonb_build_object('item', r_bad.n, 'keys', p_keys),
      format('Each item needs %s (uuid) and fencing_token (integer); known keys: %s.', p_id_key, array_to_string(p_keys, ', ')));
  end if;
end
$$;
