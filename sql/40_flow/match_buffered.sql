-- Gives fresh waits the messages buffered for their keys, oldest first, one each. The keys are locked.
-- Writes:   message, inbox.
create or replace function bpm_core.match_buffered(p_waits bpm_core.subscription[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  with wait as materialized (
    select w.tenant_id, w.id, w.workflow_instance_id, w.name, w.correlation_key,
           row_number() over (partition by w.name, w.correlation_key order by w.id) - 1 as turn
      from unnest(p_waits) w),
  taken as (
    update bpm_core.message m
       set state = 'Correlated', correlated_to = x.subscription_id
      from (
        select w.tenant_id, w.id as subscription_id, w.workflow_instance_id, b.id
          from wait w
         cross join lateral (
           select b.id
             from bpm_core.message b
            where b.state = 'Buffered' and b.name = w.name and b.correlation_key = w.correlation_key
              and b.tenant_id is not distinct from w.tenant_id  -- no index condition: with = the planner may walk the tenant
              and coalesce(b.expires_at > p_now, false)  -- nothing the index of expiry could be used for: it looks cheap where few are kept
            order by b.received_at, b.id
           offset w.turn limit 1) b
        offset 0) x
     where m.tenant_id = x.tenant_id and m.id = x.id
    returning m.tenant_id, m.id, x.subscription_id, x.workflow_instance_id)
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select t.tenant_id, bpm_core.new_id(), 'WorkflowInstance', t.workflow_instance_id, 'Message',
         jsonb_build_object('message', t.id, 'subscription', t.subscription_id), bpm_core.now()
    from taken t;
  if found then
    perform bpm_core.wake_sleepers('tick', (p_waits[1]).tenant_id);
  end if;
end
$$;
