-- Reads the items of complete_tasks. An item whose variables, result, evidence, facts or verdict we do not take has variables null: its outcome will be
-- Rejected. What a worker says about its own result is part of the record, which ordinary items have none of.
-- Returns:  answer[], item counts from 1.
-- Raises:   as check_items.
create or replace function bpm_core.parse_answers(p_items jsonb)
returns bpm_core.answer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.check_items(p_items, 'task_id', '{task_id,fencing_token,variables,result,evidence,facts,verdict,reasons}');
  return array(
    select row(i.n, (i.item ->> 'task_id')::uuid, (i.item ->> 'fencing_token')::bigint,
               d.variables, coalesce(i.item -> 'result', d.variables),
               case when d.variables is null then sha256('') else bpm_core.answer_hash(v.variables, i.item -> 'result', v.record) end, v.record, null)::bpm_core.answer
      from jsonb_array_elements(p_items) with ordinality i(item, n)
     cross join lateral (
       select c.variables, bpm_core.is_plain(c.variables) as is_plain,
              case when i.item ?| '{evidence,facts,verdict,reasons}'
                   then bpm_core.record_of(i.item -> 'evidence', i.item -> 'facts', i.item -> 'verdict', i.item -> 'reasons') end as record
         from (select coalesce(nullif(i.item -> 'variables', 'null'), '{}')) c(variables)) v
     cross join lateral (
       select case when coalesce(pg_column_size(i.item -> 'result'), 0) > 1000 and bpm_core.result_fault(i.item -> 'result') is not null then null
                   when v.record is not null and bpm_core.record_fault(v.record) is not null then null
                   when v.is_plain then v.variables
                   when bpm_core.variables_fault(v.variables) is null then bpm_core.decode_variables(v.variables) end as variables offset 0) d
     order by i.n);
end
$$;
