-- Reads the items of mark_probes.
-- Returns:  probe_mark[], item counts from 1.
-- Raises:   as check_marks.
create or replace function bpm_core.parse_probe_marks(p_items jsonb)
returns bpm_core.probe_mark[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.check_marks(p_items, array['Found', 'Absent', 'Unclear']);
  return array(
    select row(i.n, (i.item ->> 'command_id')::uuid, (i.item ->> 'fencing_token')::bigint, i.item ->> 'outcome', nullif(i.item -> 'receipt', 'null'),
               coalesce(nullif(i.item -> 'detail', 'null'), '{}'),
               bpm_core.retry_after(i.item))::bpm_core.probe_mark
      from jsonb_array_elements(p_items) with ordinality i(item, n)
     order by i.n);
end
$$;
