-- Brings what is inside an instance in line with its status, at most p_limit rows of it: of a suspended one tasks and timers are held; of a
-- running one they are freed, with the tokens and the inbox rows that were set aside. The instance is locked.
-- Returns:  boolean, whether there may be more.
-- Writes:   task_instance, timer, token, inbox, history_event.
create or replace function bpm_core.sweep_instance(p_tenant_id text, p_instance_id uuid, p_limit integer)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_hold boolean;
  v_left integer := p_limit;
begin
  select w.status = 'Suspended' into v_hold
    from bpm_core.workflow_instance w
   where w.tenant_id = p_tenant_id and w.id = p_instance_id and w.status in ('Running', 'Suspended');
  if not found then
    return false;
  end if;
  if not v_hold then
    v_left := v_left - bpm_core.free_inbox(p_tenant_id, p_instance_id, v_left);
    v_left := v_left - bpm_core.free_tokens(p_tenant_id, p_instance_id, v_left);
  end if;
  v_left := v_left - bpm_core.hold_tasks(p_tenant_id, p_instance_id, v_hold, v_left);
  -- Timers after the answers that were parked: one that came due meanwhile does not undo what was accepted.
  if not v_hold and exists (
       select from (select i.tenant_id, i.kind, i.available_at from bpm_core.inbox i where i.target_id = p_instance_id offset 0) i
        where i.tenant_id = p_tenant_id and i.kind = 'Answer' and i.available_at <= bpm_core.now()) then
    return true;
  end if;
  v_left := v_left - bpm_core.hold_timers(p_tenant_id, p_instance_id, v_hold, v_left);
  return v_left <= 0;
end
$$;
