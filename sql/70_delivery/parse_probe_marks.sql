-- Reads the items of mark_probes.
-- Returns:  probe_mark[], item counts from 1.
-- Raises:   BP400 as check_items, unknown outcome, detail that is no object, retry_after_seconds of the wrong type or range.
create or replace function bpm_core.parse_probe_marks(p_items jsonb)
returns bpm_core.probe_mark[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_outcomes constant text[] := array['Found', 'Absent', 'Unclear'];
  v_bad      bigint;
begin
  perform bpm_core.check_items(p_items, 'command_id', '{command_id,fencing_token,outcome,receipt,detail,retry_after_seconds}');
  select i.n into v_bad
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where (i.item ->> 'outcome') is null or (i.item ->> 'outcome') <> all (v_outcomes)
      or coalesce(jsonb_typeof(i.item -> 'detail'), 'null') not in ('object', 'null')
      or case coalesce(jsonb_typeof(i.item -> 'retry_after_seconds'), 'null')
           when 'null' then false
           when 'number' then (i.item ->> 'retry_after_seconds')::numeric < 0
           else true end
   order by i.n
   limit 1;
  if v_bad is not null then
    perform bpm_core.fail('BP400', format('Item %s: outcome must be one we know, detail an object, retry_after_seconds a number from 0.', v_bad),
      jsonb_build_object('item', v_bad, 'outcomes', v_outcomes));
  end if;
  return array(
    select row(i.n, (i.item ->> 'command_id')::uuid, (i.item ->> 'fencing_token')::bigint, i.item ->> 'outcome', nullif(i.item -> 'receipt', 'null'),
               coalesce(nullif(i.item -> 'detail', 'null'), '{}'),
               case when (i.item ->> 'retry_after_seconds') is not null
                    then make_interval(secs => round(least((i.item ->> 'retry_after_seconds')::numeric, 86400), 6)::float8) end)::bpm_core.probe_mark
      from jsonb_array_elements(p_items) with ordinality i(item, n)
     order by i.n);
end
$$;
