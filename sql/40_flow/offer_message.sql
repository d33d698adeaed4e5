-- Under the lock of its key: gives a buffered message to the oldest wait that has none yet; applies it at once if the instance is free.
-- If nobody waits it may start a process, at once or with the next tick. One that meets nobody and has no time to live is Expired. Writes: message, inbox, and what applying it writes.
create or replace function bpm_core.offer_message(p_tenant_id text, p_message_id uuid, p_starts_at_once boolean)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_inbox uuid := bpm_core.new_id();
  r_wait  record;
begin
  select s.id, s.workflow_instance_id into r_wait
    from (select m.name, m.correlation_key from bpm_core.message m where m.tenant_id = p_tenant_id and m.id = p_message_id offset 0) m
   cross join lateral (
     select s.id, s.workflow_instance_id
       from bpm_core.subscription s
      where s.state = 'Open' and s.kind = 'Message' and s.name = m.name and s.correlation_key = m.correlation_key
        and s.tenant_id is not distinct from p_tenant_id  -- no index condition: with = the planner may walk the tenant
        and not exists (select from bpm_core.message o where o.correlated_to = s.id)
      order by s.created_at, s.id
      limit 1) s;
  if r_wait.id is null then
    if bpm_core.start_by_message(p_tenant_id, p_message_id, p_starts_at_once) then
      return;
    end if;
    update bpm_core.message m set state = 'Expired' where m.tenant_id = p_tenant_id and m.id = p_message_id and m.expires_at <= v_now;
    return;
  end if;
  update bpm_core.message m set state = 'Correlated', correlated_to = r_wait.id where m.tenant_id = p_tenant_id and m.id = p_message_id;
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  values (p_tenant_id, v_inbox, 'WorkflowInstance', r_wait.workflow_instance_id, 'Message',
          jsonb_build_object('message', p_message_id, 'subscription', r_wait.id), v_now);
  if cardinality(bpm_core.try_lock_instances(p_tenant_id, array[r_wait.workflow_instance_id])) = 1 then
    perform bpm_core.apply_inbox(p_tenant_id, array[v_inbox]);
  else
    perform bpm_core.wake_sleepers('tick', p_tenant_id);
  end if;
end
$$;
