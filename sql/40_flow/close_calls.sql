-- Cancels what these hosts have called and what still runs: through the inbox, since each is an instance of its own. Its own calls follow then.
-- Writes:   inbox.
create or replace function bpm_core.close_calls(p_tenant_id text, p_hosts uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select p_tenant_id, bpm_core.new_id(), 'WorkflowInstance', c.id, 'Cancel', jsonb_build_object('caller', k.id), bpm_core.now()
    from unnest(p_hosts) k(id)
   cross join lateral (select w.tenant_id, w.id, w.status from bpm_core.workflow_instance w where w.parent_token_id = k.id offset 0) c
   where c.tenant_id = p_tenant_id and c.status in ('Running', 'Suspended');
  if found then
    perform bpm_core.wake_sleepers('tick', p_tenant_id);
  end if;
end
$$;
