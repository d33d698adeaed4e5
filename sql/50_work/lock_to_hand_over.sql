-- The locks and checks every change of hands begins with.
-- Returns:  task_instance, open and locked, as its instance is.
-- Raises:   BP404, BP409 it is not open, BP422 the name or reason is out of range, BP423 its instance is suspended.
create or replace function bpm_core.lock_to_hand_over(p_tenant_id text, p_task_id uuid, p_to text, p_reason text)
returns bpm_core.task_instance
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if not bpm_core.is_name(p_to) then
    perform bpm_core.fail('BP422', 'A name has 1 to 200 characters, and no blanks around it.', jsonb_build_object('name', left(p_to, 200)));
  elsif length(p_reason) > 4000 then
    perform bpm_core.fail('BP422', format('The reason has %s characters; at most 4000.', length(p_reason)), jsonb_build_object('length', length(p_reason)));
  end if;
  perform bpm_core.lock_instances_of_tasks(p_tenant_id, array[p_task_id]);
  return bpm_core.lock_user_task(p_tenant_id, p_task_id);
end
$$;
