-- The shape of the items of accept_events.
-- Raises:   BP400 not an array of objects, unknown key, wrong type or length of a key. BP429 over 1,000.
create or replace function bpm_core.check_event_items(p_items jsonb)
returns void
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys constant text[] := array['channel', 'session_id', 'thread_id', 'provider_event_id', 'type', 'payload', 'occurred_at', 'evidence'];
  v_bad  bigint;
begin
  if jsonb_typeof(p_items) is distinct from 'array' then
    perform bpm_core.fail('BP400', 'The items must be a JSON array.', null, format('Pass an array of objects with %s.', array_to_string(v_keys, ', ')));
  elsif jsonb_array_length(p_items) > 1000 then
    perform bpm_core.fail('BP429', format('%s items in one call; at most 1000.', jsonb_array_length(p_items)), null, 'Split the call.');
  end if;
  select i.n into v_bad
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where case when jsonb_typeof(i.item) <> 'object' then true
              else i.item - v_keys <> '{}'
                   or jsonb_path_exists(i.item, 'strict $.keyvalue() ? (@.key != "payload" && @.key != "evidence" && @.value.type() != "string" && @.value.type() != "null")')
                   or coalesce(jsonb_typeof(i.item -> 'evidence'), 'null') not in ('array', 'null')
                   or coalesce(octet_length(i.item ->> 'channel'), 0) not between 1 and 100
                   or coalesce(octet_length(i.item ->> 'provider_event_id'), 0) not between 1 and 300
                   or coalesce(octet_length(i.item ->> 'type'), 0) not between 1 and 200
                   or octet_length(i.item ->> 'session_id') > 200
                   or octet_length(i.item ->> 'thread_id') not between 1 and 300 end
   order by i.n
   limit 1;
  if v_bad is not null then
    perform bpm_core.fail('BP400', format('Item %s is not of the form this call takes.', v_bad), jsonb_build_object('item', v_bad, 'keys', v_keys),
      'All are texts but payload (an object) and evidence (an array). channel has 1 to 100 bytes, provider_event_id 1 to 300, type 1 to 200, session_id at most 200, thread_id 1 to 300.');
  end if;
end
$$;
