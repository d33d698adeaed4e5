-- Reads one item of complete_tasks. In SQL, so that it is inlined into the statement that reads them.
-- Returns:  one row: the columns of answer that an item gives; task_id null for an item that is not of the form, variables null for what we do not take.
create or replace function bpm_core.read_answer(p_item jsonb)
returns table (task_id uuid, fencing_token bigint, variables jsonb, output jsonb, content_hash bytea, record jsonb)
language sql stable rows 1
as $$
  select case when v.is_item then (p_item ->> 'task_id')::uuid end, case when v.is_item then (p_item ->> 'fencing_token')::bigint end,
         d.variables, coalesce(p_item -> 'result', d.variables),
         case when d.variables is null then sha256('') else bpm_core.answer_hash(v.variables, p_item -> 'result', v.record) end, v.record
    from (
      select coalesce(nullif(p_item -> 'variables', 'null'), '{}') as variables,
             bpm_core.is_item(p_item, 'task_id', '{task_id,fencing_token,variables,result,evidence,facts,verdict,reasons}') as is_item,
             case when p_item ?| '{evidence,facts,verdict,reasons}'
                  then bpm_core.record_of(p_item -> 'evidence', p_item -> 'facts', p_item -> 'verdict', p_item -> 'reasons') end as record offset 0) v
   cross join lateral (
     select case when coalesce(pg_column_size(p_item -> 'result'), 0) > 1000 and bpm_core.result_fault(p_item -> 'result') is not null then null
                 when v.record is not null and bpm_core.record_fault(v.record) is not null then null
                 when bpm_core.is_plain(v.variables) then v.variables
                 when bpm_core.variables_fault(v.variables) is null then bpm_core.decode_variables(v.variables) end as variables offset 0) d
$$;
