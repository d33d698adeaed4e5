-- Says what receivers answered when they were asked for commands.
-- p_items: [{"command_id", "fencing_token", "outcome", "receipt": {…}, "detail": {…}, "retry_after_seconds": n}], at most 1,000; outcome is
--   Found (it arrived), Absent (the receiver does not know it), Unclear (anything else).
-- Absent proves that it never arrived only where the profile says so (absent_means), and then it is sent; where keys are honoured it is sent, too.
-- Returns:  one row per item: item (from 1), command_id, outcome (Sent, Pending, Failed, Unknown; LeaseLost, NotFound), state.
-- Raises:   BP400 ill-formed items, BP403, BP429 too many. 55P03, 40P01: repeat the call.
-- Writes:   outbox, history_event; when Failed incident, dead_letter.
-- Locks:    workflow_instance.
create or replace function bpm.mark_probes(p_items jsonb, p_tenant_id text default '')
returns table (item integer, command_id uuid, outcome bpm.outcome, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_marks bpm_core.probe_mark[];
  v_now   timestamptz;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_marks := bpm_core.parse_probe_marks(p_items);
  perform bpm_core.lock_instances(p_tenant_id, array(
    select o.workflow_instance_id
      from (select p_tenant_id as tenant_id, m.command_id from unnest(v_marks) m offset 0) m
      join bpm_core.outbox o on o.tenant_id = m.tenant_id and o.command_id = m.command_id));
  v_now := bpm_core.now();
  perform bpm_core.move_commands(p_tenant_id, array(
    select distinct on (o.id)
           row(o.id, v.state, v.arrived, v.failure, null, m.receipt, m.detail || jsonb_build_object('probe', o.probes, 'seen', m.seen), m.retry_in,
               null, o.attempt, o.worker_id)::bpm_core.command_move
      from (select p_tenant_id as tenant_id, x.* from unnest(v_marks) x offset 0) m
     cross join lateral (select o.id, o.state, o.fencing_token, o.lease_until, o.probes, o.attempt, o.worker_id, o as command
                           from bpm_core.outbox o where o.tenant_id = m.tenant_id and o.command_id = m.command_id offset 0) o
     cross join lateral bpm_core.judge_probe(m.seen, m.receipt, o.command, v_now) v
     where o.state = 'Reconciling' and o.fencing_token = m.fencing_token and (o.lease_until > v_now or v.state = 'Sent')
     order by o.id, m.item));
  -- The fence only grows: one that still stands belongs to the probe that led to this state, so a repeat gets the same answer.
  return query
  select m.item, m.command_id,
         case when o.id is null then 'NotFound' when o.fencing_token = m.fencing_token and o.state <> 'Reconciling' and o.probes > 0
              then o.state::text else 'LeaseLost' end::bpm.outcome,
         o.state::text
    from unnest(v_marks) m
    left join lateral (select o.id, o.fencing_token, o.state, o.probes from bpm_core.outbox o
                        where o.tenant_id = p_tenant_id and o.command_id = m.command_id offset 0) o on true
   order by m.item;
end
$$;
