-- May this person do this user task, by the exclusion rule of its task version? Requester: who started the process. Earlier actors: who completed a
-- user task of this process before, of the nodes named if any are.
-- Raises:   BP403, with who and why.
create or replace function bpm_core.check_excluded(p_task bpm_core.task_instance, p_actor text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_rule    jsonb := (
    select v.exclusion_rule from bpm_core.task_version v where v.tenant_id = p_task.tenant_id and v.id = p_task.task_version_id);
  v_process uuid;
  v_why     text;
begin
  if v_rule is null then
    return;
  end if;
  v_process := (select w.process_instance_id from bpm_core.workflow_instance w where w.tenant_id = p_task.tenant_id and w.id = p_task.workflow_instance_id);
  v_why := case
    when v_rule -> 'actors' ? p_actor then 'actors'
    when v_rule -> 'requester' = 'true'
         and exists (select from bpm_core.process_instance p where p.tenant_id = p_task.tenant_id and p.id = v_process and p.started_by = p_actor) then 'requester'
    when coalesce(v_rule -> 'earlier_actors', 'false') <> 'false'
         and bpm_core.has_acted(p_task.tenant_id, v_process, p_actor, v_rule -> 'earlier_actors') then 'earlier_actors' end;
  if v_why is not null then
    perform bpm_core.fail('BP403', format('%s may not do user task %s: excluded as %s.', p_actor, p_task.id,
        case v_why when 'requester' then 'the one who started the process' when 'earlier_actors' then 'one who did an earlier task of it' else 'named by the rule' end),
      jsonb_build_object('id', p_task.id, 'actor', p_actor, 'rule', v_why), 'Somebody else has to.');
  end if;
end
$$;
