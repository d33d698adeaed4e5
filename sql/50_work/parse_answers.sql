-- Reads the items of complete_tasks, but for those taken already. An item whose variables, result, evidence, facts or verdict we do not take has variables null: its outcome will be
-- Rejected. What a worker says about its own result is part of the record, which ordinary items have none of.
-- Returns:  answer[], item counts from 1.
create or replace function bpm_core.parse_answers(p_items jsonb, p_taken integer[])
returns bpm_core.answer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return array(
    select row(i.n, a.task_id, a.fencing_token, a.variables, a.output, a.content_hash, a.record, null)::bpm_core.answer
      from jsonb_array_elements(p_items) with ordinality i(item, n)
     cross join lateral bpm_core.read_answer(i.item) a
     where i.n <> all (p_taken)
     order by i.n);
end
$$;
