-- What bars this person from deciding an approval: Excluded by name, requester (started the process), delegates (a user task of it was handed on to them), earlier_actors (answered a user task or voted on another
-- approval of the process), or NotAsked (it names approvers or groups of them). Whether they voted already is another question.
-- p_groups: the groups they are in, as the caller says.
-- Returns:  text; null: nothing.
create or replace function bpm_core.approval_bar(p_approval bpm_core.approval_record, p_actor text, p_groups text[])
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_process uuid;
begin
  if p_actor = any (p_approval.excluded_actors) then
    return 'Excluded';
  elsif not bpm_core.is_asked(p_approval, p_actor, p_groups) and (p_approval.escalated_at is null or p_actor <> p_approval.escalate_to) then
    return 'NotAsked';
  elsif p_approval.exclude = '{}' then
    return null;
  end if;
  v_process := (select w.process_instance_id from bpm_core.workflow_instance w
                 where w.tenant_id = p_approval.tenant_id and w.id = p_approval.workflow_instance_id);
  return case
    when 'requester' = any (p_approval.exclude)
         and exists (select from bpm_core.process_instance p where p.tenant_id = p_approval.tenant_id and p.id = v_process and p.started_by = p_actor)
      then 'requester'
    when 'earlier_actors' = any (p_approval.exclude)
         and (bpm_core.has_acted(p_approval.tenant_id, v_process, p_actor, 'true')
              or bpm_core.has_voted(p_approval.tenant_id, v_process, p_actor, p_approval.id))
      then 'earlier_actors'
    when 'delegates' = any (p_approval.exclude) and bpm_core.was_delegate(p_approval.tenant_id, v_process, p_actor, null) then 'delegates' end;
end
$$;
