-- Puts what an incident InboxPoisoned took out of the inbox in again, for the next tick. Should its wait have closed, that gives the message back.
-- Writes:   inbox.
create or replace function bpm_core.revive_inbox(p_incident bpm_core.incident)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  values (p_incident.tenant_id, bpm_core.new_id(), case p_incident.detail ->> 'inbox' when 'WorkflowEnded' then 'ProcessInstance' else 'WorkflowInstance' end,
          case p_incident.detail ->> 'inbox' when 'WorkflowEnded' then (p_incident.detail ->> 'process')::uuid else p_incident.workflow_instance_id end,
          p_incident.detail ->> 'inbox', p_incident.detail - 'inbox', bpm_core.now());
  perform bpm_core.wake_sleepers('tick', p_incident.tenant_id);
end
$$;
