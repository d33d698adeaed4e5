-- Cancels the commands of ended instances that never left: Pending and never possibly seen by the receiver. What is being sent, is Unknown, or is
-- to be sent again finishes its own life.
-- Writes:   outbox, history_event. The instances are locked; a claim holds its rows only for a moment and waits for nobody.
create or replace function bpm_core.cancel_commands(p_tenant_id text, p_instances uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now       timestamptz := bpm_core.now();
  v_cancelled uuid[];
begin
  with unsent as materialized (
    select o.tenant_id, o.id
      from unnest(p_instances) i(id)
     cross join lateral (select o.tenant_id, o.id, o.state, o.first_sent_at from bpm_core.outbox o where o.workflow_instance_id = i.id offset 0) o
     where o.tenant_id = p_tenant_id and o.state = 'Pending' and o.first_sent_at is null),
  cancelled as (
    update bpm_core.outbox o
       set state = 'Cancelled', ended_at = v_now
      from unsent u
     where o.tenant_id = u.tenant_id and o.id = u.id
       -- Looked at again, since a claim may have been waited for; not as the state, for whose index the planner would leave the key.
       and o.worker_id is null and o.ended_at is null and o.first_sent_at is null
    returning o.tenant_id, o.id, o.workflow_instance_id, o.token_id, o.node_id, o.command_id),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
    select c.tenant_id, c.workflow_instance_id, v_now, 'CommandCancelled', c.token_id, c.node_id, 'Pending', 'Cancelled',
           jsonb_build_object('command', c.command_id)
      from cancelled c)
  select array_agg(c.id) into v_cancelled from cancelled c;
  -- Not where one that is under way, or unknown, stands before it: that one's end wakes the next, and to lock it here would keep its report waiting,
  -- and a tick that looks at it, for as long as this transaction lasts.
  perform bpm_core.wake_sequences(p_tenant_id, array(
    select c.id
      from unnest(v_cancelled) c(id)
     cross join lateral (select o.destination_id, o.sequence_key from bpm_core.outbox o where o.tenant_id = p_tenant_id and o.id = c.id offset 0) o
     cross join lateral (
       select x.state
         from bpm_core.outbox x
        where x.destination_id = o.destination_id and x.sequence_key = o.sequence_key and x.ended_at is null and x.tenant_id = p_tenant_id
        order by x.id
        limit 1) x
     where x.state = 'Pending'));
end
$$;
