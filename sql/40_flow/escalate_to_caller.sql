-- Hands an escalation nobody in its instance catches to the caller, if somebody there or further out does.
-- Returns:  boolean, whether somebody does. Writes: inbox.
create or replace function bpm_core.escalate_to_caller(p_token bpm_core.moving, p_code text)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  if not bpm_core.is_caught_by_caller(p_token, 'EscalationBoundary', p_code) then
    return false;
  end if;
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select w.tenant_id, bpm_core.new_id(), 'WorkflowInstance', t.workflow_instance_id, 'CallEscalated',
         jsonb_build_object('child', w.id, 'host', t.id, 'visit', split_part(w.trigger_key, ':', 2)::integer, 'code', p_code), bpm_core.now()
    from bpm_core.workflow_instance w
   cross join lateral (select t.id, t.workflow_instance_id from bpm_core.token t where t.tenant_id = w.tenant_id and t.id = w.parent_token_id offset 0) t
   where w.tenant_id = p_token.tenant_id and w.id = p_token.instance_id;
  perform bpm_core.wake_sleepers('tick', p_token.tenant_id);
  return true;
end
$$;
