-- Tells the callers of instances that have ended, through the inbox: how, and with which visit of the call activity that belongs.
-- One that its caller cancelled tells nobody. Writes: inbox.
create or replace function bpm_core.tell_callers(p_tenant_id text, p_instances uuid[], p_status bpm_core.workflow_status, p_detail jsonb)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select p_tenant_id, bpm_core.new_id(), 'WorkflowInstance', t.workflow_instance_id, case p_status when 'Completed' then 'CallEnded' else 'CallFailed' end,
         jsonb_build_object('child', w.id, 'host', w.parent_token_id, 'visit', split_part(w.trigger_key, ':', 2)::integer, 'status', p_status, 'detail', p_detail),
         bpm_core.now()
    from (select p_tenant_id as tenant_id, e.* from unnest(p_instances) e(id) offset 0) e
   cross join lateral (select w.* from bpm_core.workflow_instance w where w.tenant_id = e.tenant_id and w.id = e.id offset 0) w
   cross join lateral (select t.workflow_instance_id from bpm_core.token t where t.tenant_id = w.tenant_id and t.id = w.parent_token_id offset 0) t
   where not coalesce(p_detail ? 'caller', false);
  if found then
    perform bpm_core.wake_sleepers('tick', p_tenant_id);
  end if;
end
$$;
