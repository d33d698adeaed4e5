-- The form of items that tell what became of commands, whoever tells it and which outcomes they know.
-- Raises:   BP400 as check_items, unknown outcome, detail that is no object, retry_after_seconds of the wrong type or range.
create or replace function bpm_core.check_marks(p_items jsonb, p_outcomes text[])
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad bigint;
begin
  perform bpm_core.check_items(p_items, 'command_id', '{command_id,fencing_token,outcome,receipt,detail,retry_after_seconds}');
  select i.n into v_bad
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where (i.item ->> 'outcome') is null or (i.item ->> 'outcome') <> all (p_outcomes)
      or coalesce(jsonb_typeof(i.item -> 'detail'), 'null') not in ('object', 'null')
      or case coalesce(jsonb_typeof(i.item -> 'retry_after_seconds'), 'null')
           when 'null' then false
           when 'number' then (i.item ->> 'retry_after_seconds')::numeric < 0
           else true end
   order by i.n
   limit 1;
  if v_bad is not null then
    perform bpm_core.fail('BP400', format('Item %s: outcome must be one we know, detail an object, retry_after_seconds a number from 0.', v_bad),
      jsonb_build_object('item', v_bad, 'outcomes', p_outcomes));
  end if;
end
$$;
