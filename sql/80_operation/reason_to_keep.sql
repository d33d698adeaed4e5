-- Under the locks: why a process instance that has had its time has to stay all the same.
--   unfinished   it, or a workflow of it, has not ended, or something is on its way to it
--   command      a command of it may still be sent, or nobody knows whether it arrived
--   dead_letter  one is open: somebody may requeue it
--   incident     one is open
--   decision     an approval has not been decided, or its effect is still to come
--   review       one is open
--   message      it got one whose message_id is still to be known again (engine.idempotency_key_days)
-- Returns:  text; null: it may go.
create or replace function bpm_core.reason_to_keep(p_tenant_id text, p_process_instance_id uuid, p_workflows uuid[], p_now timestamptz)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_since timestamptz := p_now - (bpm_core.key_expiry(p_now) - p_now);
begin
  return case
    when not exists (select from bpm_core.process_instance p
                      where p.tenant_id = p_tenant_id and p.id = p_process_instance_id and p.status in ('Completed', 'Failed', 'Cancelled'))
      or exists (select from unnest(p_workflows || p_process_instance_id) k(id) cross join lateral (select from bpm_core.inbox i where i.target_id = k.id offset 0) i)
      or exists (select
                   from (select p_tenant_id as tenant_id, k.id from unnest(p_workflows) k(id) offset 0) k
                  cross join lateral (select w.status from bpm_core.workflow_instance w where w.tenant_id = k.tenant_id and w.id = k.id offset 0) w
                  where w.status in ('Running', 'Suspended')) then 'unfinished'
    when exists (select
                   from unnest(p_workflows) k(id)
                  cross join lateral (select o.ended_at from bpm_core.outbox o where o.workflow_instance_id = k.id offset 0) o
                  where o.ended_at is null) then 'command'
    when exists (select
                   from unnest(p_workflows) k(id)
                  cross join lateral (select d.state from bpm_core.dead_letter d where d.workflow_instance_id = k.id offset 0) d
                  where d.state = 'Open') then 'dead_letter'
    when exists (select
                   from unnest(p_workflows) k(id)
                  cross join lateral (select i.state from bpm_core.incident i where i.workflow_instance_id = k.id offset 0) i
                  where i.state = 'Open') then 'incident'
    when exists (select
                   from unnest(p_workflows) k(id)
                  cross join lateral (select a.status, a.effect from bpm_core.approval_record a where a.workflow_instance_id = k.id offset 0) a
                  where a.status = 'Pending' or a.effect = 'Pending' and a.status <> 'Cancelled') then 'decision'
    when exists (select
                   from unnest(p_workflows) k(id)
                  cross join lateral (select r.state from bpm_core.review r where r.workflow_instance_id = k.id offset 0) r
                  where r.state = 'Open') then 'review'
    when exists (select
                   from (select p_tenant_id as tenant_id, k.id from unnest(bpm_core.messages_of(p_tenant_id, p_workflows)) k(id) offset 0) k
                  cross join lateral (select m.message_id, m.received_at from bpm_core.message m where m.tenant_id = k.tenant_id and m.id = k.id offset 0) m
                  where m.message_id is not null and m.received_at > v_since) then 'message'
  end;
end
$$;
