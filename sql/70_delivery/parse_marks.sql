-- Reads the items of mark_commands.
-- Returns:  mark[], item counts from 1.
-- Raises:   as check_marks.
create or replace function bpm_core.parse_marks(p_items jsonb)
returns bpm_core.mark[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.check_marks(p_items, array['Sent', 'NotSent', 'Unknown', 'InProgress', 'Conflict', 'Refused', 'KeyReused', 'Throttled', 'ReceiverError']);
  return array(
    select row(i.n, (i.item ->> 'command_id')::uuid, (i.item ->> 'fencing_token')::bigint, i.item ->> 'outcome',
               nullif(i.item -> 'receipt', 'null'), coalesce(nullif(i.item -> 'detail', 'null'), '{}'),
               bpm_core.retry_after(i.item),
               sha256(convert_to((i.item - '{command_id,fencing_token}'::text[])::text, 'UTF8')))::bpm_core.mark
      from jsonb_array_elements(p_items) with ordinality i(item, n)
     order by i.n);
end
$$;
