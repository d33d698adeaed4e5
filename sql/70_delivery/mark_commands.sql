-- Says what became of attempts to deliver. Which state follows the database decides, by the profile of the receiver frozen in the command.
-- p_items: [{"command_id", "fencing_token", "outcome", "receipt": {…}, "detail": {…}, "retry_after_seconds": n}], at most 1,000; outcome is
--   Sent (with its receipt), NotSent (nothing left this machine), Unknown (written, then silence), InProgress (the receiver is at it),
--   Conflict (409: what it means is in the profile), Refused (3xx, 4xx), KeyReused (with another payload), Throttled (429, 503 with a time),
--   ReceiverError (500, 502, 504, 503 without a time).
-- Returns:  one row per item: item (from 1), command_id, outcome (Sent, Pending, Failed, Unknown; the same for an unchanged repeat; Conflict,
--           LeaseLost, Cancelled, NotFound), state.
-- Raises:   BP400 ill-formed items, BP403, BP429 too many. 55P03, 40P01: repeat the call.
-- Writes:   outbox, delivery_attempt, history_event; when Failed incident, dead_letter.
-- Locks:    workflow_instance. No command row is waited for: under this lock only claims touch any, and those Pending.
-- Source:   runtime design, transaction cookbook, "Deliver".
create or replace function bpm.mark_commands(p_items jsonb, p_tenant_id text default '')
returns table (item integer, command_id uuid, outcome bpm.outcome, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_marks bpm_core.mark[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_marks := bpm_core.parse_marks(p_items);
  perform bpm_core.lock_instances(p_tenant_id, array(
    select o.workflow_instance_id
      from (select p_tenant_id as tenant_id, m.command_id from unnest(v_marks) m offset 0) m
      join bpm_core.outbox o on o.tenant_id = m.tenant_id and o.command_id = m.command_id));
  perform bpm_core.accept_marks(p_tenant_id, v_marks);
  return query
  select m.item, m.command_id, a.outcome, a.state
    from unnest(v_marks) m
   cross join lateral bpm_core.mark_outcome(p_tenant_id, m) a
   order by m.item;
end
$$;
