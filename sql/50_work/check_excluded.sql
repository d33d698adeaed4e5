-- May this person do this user task, by the exclusion rule of its task version (exclusion_of)?
-- Raises:   BP403, with who and why.
create or replace function bpm_core.check_excluded(p_task bpm_core.task_instance, p_actor text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_why text := bpm_core.exclusion_of(p_task, p_actor);
begin
  if v_why is not null then
    perform bpm_core.fail('BP403', format('%s may not do user task %s: excluded as %s.', p_actor, p_task.id,
        case v_why when 'requester' then 'the one who started the process' when 'earlier_actors' then 'one who did an earlier task of it'
          when 'delegates' then 'one whom a task of it was handed on to' else 'named by the rule' end),
      jsonb_build_object('id', p_task.id, 'actor', p_actor, 'rule', v_why), 'Somebody else has to.');
  end if;
end
$$;
