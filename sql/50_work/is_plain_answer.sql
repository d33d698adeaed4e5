-- Is this item of complete_tasks, found to name this task, of the plainest form: the ids as we write them, no keys but these, nothing that needs a closer look? In as few words as will do, each of them
-- made ready with every call; what is written otherwise is read by the general way (read_answer). Inlined into its caller.
-- p_text: the small_text of the variables.
-- Returns:  boolean.
create or replace function bpm_core.is_plain_answer(p_item jsonb, p_task_id uuid, p_fencing_token bigint, p_variables jsonb, p_text text)
returns boolean
language sql stable
as $$
  select p_item ->> 'task_id' = p_task_id::text and (p_item -> 'fencing_token')::text = p_fencing_token::text
         and p_item - '{task_id,fencing_token,variables,result}'::text[] = '{}' and bpm_core.looks_plain(p_variables, p_text)
         and (coalesce(pg_column_size(p_item -> 'result'), 0) <= 1000 or bpm_core.result_fault(p_item -> 'result') is null)
$$;
