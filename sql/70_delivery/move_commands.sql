-- Under the locks of their instances: moves commands to another state, with the attempt that ended and history. The one place that does, but for
-- claim (Pending to Sending) and cancel. An Unknown command is planned to be sent again where the profile allows and while the receiver
-- still knows our key, or the receiver to be asked where it can be; one that is Pending again although it may have been seen carries the time after
-- which it must not be sent.
-- Writes:   outbox, delivery_attempt, history_event, destination_slot, destination_gate; when Failed incident, dead_letter.
create or replace function bpm_core.move_commands(p_tenant_id text, p_moves bpm_core.command_move[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  with move as materialized (
    select o.tenant_id, o.id, o.command_id, o.workflow_instance_id, o.token_id, o.node_id, o.state as was, o.worker_id, o.fencing_token, o.claimed_at,
           o.attempt as under_way, m.state, m.reported, bpm_core.cap_json(m.receipt) as receipt, bpm_core.cap_json(m.detail) as detail, m.content_hash, m.attempt, m.actor,
           case when m.arrived then coalesce(o.first_sent_at, o.claimed_at) when not m.arrived then o.first_sent_at end as first_sent_at,
           case when m.state in ('Pending', 'Unknown')
                then coalesce(m.retry_in, bpm_core.command_delay(d, case when p.ask then o.probes + 1 else o.attempt end)) end as delay,
           p.ask, not p.ask and d.resend_allowed and o.attempt < o.max_attempts as resend, d.key_retention, d.lease
      from (select p_tenant_id as tenant_id, m.* from unnest(p_moves) m offset 0) m
      join bpm_core.outbox o on o.tenant_id = m.tenant_id and o.id = m.outbox_id
     cross join lateral jsonb_populate_record(null::bpm_core.destination, o.destination_snapshot) d
     cross join lateral (select m.state = 'Unknown' and d.probe_url is not null and o.probes < d.max_attempts as ask) p),
  moved as (
    update bpm_core.outbox o
       set state         = m.state,
           worker_id     = null,
           lease_until   = null,
           available_at  = case when m.state = 'Pending' then v_now + m.delay else o.available_at end,
           first_sent_at = m.first_sent_at,
           review_at     = case when m.state = 'Pending' then m.first_sent_at + m.key_retention
                                when m.state = 'Unknown' and m.resend and m.first_sent_at + m.key_retention > v_now + m.delay + m.lease
                                  then v_now + m.delay end,
           probe_at      = case when m.ask then v_now + m.delay end,
           receipt       = coalesce(m.receipt, o.receipt),
           last_error    = case when m.state <> 'Sent' then m.detail || jsonb_strip_nulls(jsonb_build_object('outcome', m.reported)) end,
           ended_at      = case when m.state in ('Sent', 'Failed') then v_now end
      from move m
     where o.tenant_id = m.tenant_id and o.id = m.id),
  attempted as (
    insert into bpm_core.delivery_attempt (
      tenant_id, outbox_id, attempt, late, worker_id, fencing_token, claimed_at, ended_at, reported, outcome, receipt, detail, content_hash)
    select m.tenant_id, m.id, m.attempt, m.was <> 'Sending' or m.attempt < m.under_way, coalesce(a.worker_id, m.worker_id), coalesce(a.fencing_token, m.fencing_token),
           coalesce(a.claimed_at, m.claimed_at), v_now, m.reported, m.state, m.receipt, m.detail, m.content_hash
      from move m
      left join bpm_core.delivery_attempt a
        on a.tenant_id = m.tenant_id and a.outbox_id = m.id and a.attempt = m.attempt and not a.late
     where m.was = 'Sending' or m.reported is not null
    union all
    -- The attempt that an earlier one's late answer overtook.
    select m.tenant_id, m.id, m.under_way, false, m.worker_id, m.fencing_token, m.claimed_at, v_now, null, m.state, null, '{"error": "Overtaken"}', null
      from move m
     where m.was = 'Sending' and m.attempt < m.under_way)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, actor, detail)
  select m.tenant_id, m.workflow_instance_id, v_now,
         case when m.actor is not null then 'CommandReconciled' when m.state = 'Pending' then 'CommandRetried'
              else 'Command' || m.state end::bpm_core.history_kind,
         m.token_id, m.node_id, m.was::text, m.state::text, coalesce(m.actor, m.worker_id),
         jsonb_strip_nulls(jsonb_build_object('command', m.command_id, 'attempt', m.attempt, 'reported', m.reported))
         || jsonb_build_object('detail', m.detail)
    from move m;
  perform bpm_core.bury_commands(p_tenant_id, array(select m from unnest(p_moves) m where m.state = 'Failed'));
  perform bpm_core.tell_of_commands(p_tenant_id, p_moves);
  perform bpm_core.free_slots(p_tenant_id, p_moves);
  perform bpm_core.wake_sequences(p_tenant_id, array(select m.outbox_id from unnest(p_moves) m where m.state in ('Sent', 'Failed')));
  perform bpm_core.judge_destinations(p_tenant_id, p_moves);
end
$$;
