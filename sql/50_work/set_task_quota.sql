-- Bounds how many tasks of a type may be Executing at once in a tenant, whoever claims them; null: no bound any more. It holds for claims that begin from
-- now on: what is in hand stays, and is not counted if it was claimed while there was no quota.
-- Returns:  integer, the bound there was; null: none.
-- Raises:   BP403. BP422 no type or one longer than 200 characters, the reserved type of user tasks, a bound out of 1..10000, an over-long reason.
-- Writes:   task_quota, quota_slot, audit_event. Locks: task_quota.
create or replace function bpm.set_task_quota(p_task_type text, p_bound integer, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns integer
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_actor text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  if coalesce(length(p_task_type) not between 1 and 200, true) then
    perform bpm_core.fail('BP422', 'A task type has 1 to 200 characters.', jsonb_build_object('task_type', left(p_task_type, 300)));
  elsif starts_with(p_task_type, 'bpm:user') then
    perform bpm_core.fail('BP422', 'Tasks of type bpm:user are for people; they have no quota.');
  end if;
  return bpm_core.turn_quota(p_tenant_id, p_task_type, p_bound, p_reason, v_actor, p_tenant_id);
end
$$;
