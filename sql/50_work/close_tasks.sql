-- Cancels the live tasks of these tokens; a running attempt ends as Cancelled, its worker hears so at the next heartbeat or answer.
-- Writes:   task_instance, execution, history_event, quota_slot.
create or replace function bpm_core.close_tasks(p_hosts bpm_core.moving[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now     timestamptz;
  v_bounded uuid[];
begin
  perform bpm_core.lock_tasks((p_hosts[1]).tenant_id, array(
    select t.id
      from unnest(p_hosts) h
     cross join lateral (select t.tenant_id, t.id, t.state from bpm_core.task_instance t
                          where t.workflow_instance_id = h.instance_id and t.token_id = h.token_id offset 0) t
     where t.tenant_id = h.tenant_id and t.state in ('Ready', 'Executing', 'Held', 'Failed')));
  -- Read after the locks: a claim may have come in between, and its attempt must not end before it began.
  v_now := bpm_core.now();
  with live as materialized (
    select t.tenant_id, t.id, t.state as before
      from unnest(p_hosts) h
     cross join lateral (select t.tenant_id, t.id, t.state from bpm_core.task_instance t
                          where t.workflow_instance_id = h.instance_id and t.token_id = h.token_id offset 0) t
     where t.tenant_id = h.tenant_id and t.state in ('Ready', 'Executing', 'Held', 'Failed')),
  closed as (
    update bpm_core.task_instance t
       set state = 'Cancelled'
      from live l
     where t.tenant_id = l.tenant_id and t.id = l.id
    returning t.*, l.before),
  executed as (
    insert into bpm_core.execution (tenant_id, task_instance_id, attempt, worker_id, fencing_token, claimed_at, lease_until, ended_at, state, outcome)
    select c.tenant_id, c.id, c.attempt, c.worker_id, c.fencing_token, c.claimed_at, c.lease_until, v_now, 'Cancelled', 'Cancelled'
      from closed c
     where c.before = 'Executing'),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
    select c.tenant_id, c.workflow_instance_id, v_now, 'TaskCancelled', c.token_id, c.node_id, c.before::text, 'Cancelled', jsonb_build_object('task', c.id)
      from closed c)
  select array_agg(c.id)
    into v_bounded
    from closed c
   where c.before = 'Executing' and (c.type_slot is not null or c.tenant_slot is not null);
  if v_bounded is not null then
    perform bpm_core.free_quota_slots((p_hosts[1]).tenant_id, v_bounded);
  end if;
end
$$;
