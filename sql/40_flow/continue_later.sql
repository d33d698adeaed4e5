-- Leaves the items of parallel multi-instances that exceed one command to tick: one row in the inbox of the instance.
-- Writes:   inbox.
create or replace function bpm_core.continue_later(p_plans bpm_core.loop_plan[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select (p.host).tenant_id, bpm_core.new_id(), 'WorkflowInstance', (p.host).instance_id, 'Continue',
         jsonb_build_object('host', (p.host).token_id, 'visit', p.visit), bpm_core.now()
    from unnest(p_plans) p;
  perform bpm_core.wake_sleepers('tick', ((p_plans[1]).host).tenant_id);
end
$$;
