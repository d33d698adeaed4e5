-- Why this person may not do this user task, by the exclusion rule of its task version. requester: who started the process. earlier_actors: who completed
-- a user task of this process before, of the nodes named if any are. delegates: who was handed one on. actors: by name.
-- Returns:  text, which part of the rule; null: nothing bars them.
create or replace function bpm_core.exclusion_of(p_task bpm_core.task_instance, p_actor text)
returns text
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
begin
  if v_rule is null then
    return null;
  end if;
  v_process := (select w.process_instance_id from bpm_core.workflow_instance w where w.tenant_id = p_task.tenant_id and w.id = p_task.workflow_instance_id);
  return case
    when v_rule -> 'actors' ?| array[p_actor, 'person:' || p_actor] then 'actors'
    when v_rule -> 'requester' = 'true'
         and exists (select from bpm_core.process_instance p where p.tenant_id = p_task.tenant_id and p.id = v_process and p.started_by = p_actor) then 'requester'
    when coalesce(v_rule -> 'earlier_actors', 'false') <> 'false'
         and bpm_core.has_acted(p_task.tenant_id, v_process, p_actor, v_rule -> 'earlier_actors') then 'earlier_actors'
    when v_rule -> 'delegates' = 'true' and bpm_core.was_delegate(p_task.tenant_id, v_process, p_actor, p_task.id) then 'delegates' end;
end
$$;
