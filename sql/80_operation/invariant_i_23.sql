-- I-23: a command that may have been sent is never Pending again by itself: only where the receiver's profile allows it, while the receiver
-- still knows the key, or by a person. command_id and payload never change.
create or replace function bpm_core.invariant_i_23(p_tenant_id text)
returns setof bpm_core.violation
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with told as (
    select (h.detail ->> 'command')::uuid as command_id, h.workflow_instance_id, h.seq, h.kind, h.from_state, h.to_state,
           (h.detail ->> 'attempt')::integer as attempt
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id
       and h.kind in ('CommandWritten', 'CommandSent', 'CommandFailed', 'CommandUnknown', 'CommandRetried', 'CommandCancelled', 'CommandReconciled')),
  lost as (
    select a.outbox_id, max(a.attempt) as attempt
      from bpm_core.delivery_attempt a
     where a.tenant_id = p_tenant_id and a.outcome = 'Unknown'
     group by a.outbox_id)
  select bpm_core.violation_of('I-23', o.tenant_id, 'command', o.command_id::text, x.rule,
           jsonb_build_object('state', o.state, 'attempt', o.attempt, 'first_sent_at', o.first_sent_at, 'destination', o.destination_code))
    from bpm_core.outbox o
    left join lost l on l.outbox_id = o.id
   cross join lateral (values
     ('its payload is not the one that was hashed', o.payload_hash <> bpm_core.payload_hash(o.payload)),
     ('history does not know its id', not exists (
        select from told t where t.command_id = o.command_id and t.kind = 'CommandWritten')
        and o.created_at >= (select bpm_core.history_since())),
     ('sent again by itself although the profile forbids it',
      not (o.destination_snapshot ->> 'resend_allowed')::boolean and exists (
        select from told t where t.command_id = o.command_id and t.kind = 'CommandRetried' and t.from_state = 'Unknown')),
     ('on its way again though nobody decided so',
      (o.state = 'Pending' and l.attempt = o.attempt or o.state = 'Sending' and l.attempt = o.attempt - 1) and not exists (
        select from told t where t.command_id = o.command_id and t.attempt = l.attempt and t.to_state = 'Pending' and t.from_state <> 'Sending')))
     x(rule, broken)
   where o.tenant_id = p_tenant_id and x.broken
  union all
  select bpm_core.violation_of('I-23', o.tenant_id, 'command', o.command_id::text, x.rule,
           jsonb_build_object('state', o.state, 'attempt', a.attempt, 'claimed_at', a.claimed_at, 'first_sent_at', o.first_sent_at))
    from bpm_core.outbox o
    join bpm_core.delivery_attempt a on a.tenant_id = o.tenant_id and a.outbox_id = o.id
   cross join lateral (values
     ('it was Sent once, and is not any more', a.outcome = 'Sent' and o.state <> 'Sent'),
     ('sent again after the receiver may have forgotten the key',
      a.claimed_at > o.first_sent_at + (o.destination_snapshot ->> 'key_retention')::interval)) x(rule, broken)
   where o.tenant_id = p_tenant_id and x.broken
$$;
