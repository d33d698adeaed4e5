-- Why an answer is Rejected: its variables, result, evidence or facts are not what we take, or the result does not meet the schema of its task.
create or replace function bpm_core.answer_fault(p_tenant_id text, p_item jsonb, p_answer bpm_core.answer)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_answer.variables is null then
    return coalesce(bpm_core.variables_fault(coalesce(nullif(p_item -> 'variables', 'null'), '{}')), bpm_core.result_fault(p_item -> 'result'),
                    bpm_core.record_fault(p_answer.record));
  end if;
  return bpm_core.rejection(p_tenant_id, p_answer);
end
$$;
