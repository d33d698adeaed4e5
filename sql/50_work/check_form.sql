-- Is the token a person answers under the one their form was filled with? It grows whenever the task changes hands.
-- Raises:   BP409, with what the task is now.
create or replace function bpm_core.check_form(p_task bpm_core.task_instance, p_fencing_token bigint)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_fencing_token <> p_task.fencing_token then
    perform bpm_core.fail('BP409', format('User task %s has changed hands since this form was opened.', p_task.id),
      jsonb_build_object('id', p_task.id, 'shown', p_fencing_token, 'fencing_token', p_task.fencing_token, 'state', p_task.state, 'assignee', p_task.assignee,
                         'owner', p_task.owner, 'delegation', p_task.delegation, 'due_at', p_task.due_at),
      'Open it again with bpm.get_user_task.');
  end if;
end
$$;
