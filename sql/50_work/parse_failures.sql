-- Reads the items of fail_tasks.
-- Returns:  failure[], item counts from 1.
-- Raises:   BP400 as check_items, or retryable / retry_in_seconds of the wrong type or range.
create or replace function bpm_core.parse_failures(p_items jsonb)
returns bpm_core.failure[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bad bigint;
begin
  perform bpm_core.check_items(p_items, 'task_id', '{task_id,fencing_token,error,retryable,retry_in_seconds}');
  select i.n into v_bad
    from jsonb_array_elements(p_items) with ordinality i(item, n)
   where coalesce(jsonb_typeof(i.item -> 'retryable'), 'null') not in ('boolean', 'null')
      or case coalesce(jsonb_typeof(i.item -> 'retry_in_seconds'), 'null')
           when 'null' then false
           when 'number' then (i.item ->> 'retry_in_seconds')::numeric not between 0 and 31536000
           else true end
      or pg_column_size(i.item -> 'error') > 65536
   order by i.n
   limit 1;
  if v_bad is not null then
    perform bpm_core.fail('BP400', format('Item %s: retryable is a boolean, retry_in_seconds 0 to 31536000, error at most 64 kB.', v_bad),
      jsonb_build_object('item', v_bad));
  end if;
  return array(
    select row(i.n, (i.item ->> 'task_id')::uuid, (i.item ->> 'fencing_token')::bigint,
               coalesce(nullif(i.item -> 'error', 'null'), '"no reason given"'),
               coalesce((i.item ->> 'retryable')::boolean, true),
               make_interval(secs => round((i.item ->> 'retry_in_seconds')::numeric, 6)::float8))::bpm_core.failure
      from jsonb_array_elements(p_items) with ordinality i(item, n)
     order by i.n);
end
$$;
