-- I-23: a command that may have been sent is never Pending again by itself: only where the receiver's profile allows it, while the receiver
-- still knows the key, or by a person. command_id and payload never change. Of one sequence one at a time is under way or of unknown fate.
create or replace function bpm_core.invariant_i_23(p_tenant_id text)
returns setof bpm_core.violation
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select (q.v).* from (
  with told as (
    select (h.detail ->> 'command')::uuid as command_id,
           bool_or(h.kind = 'CommandWritten') as written,
           bool_or(h.kind = 'CommandRetried' and h.from_state = 'Unknown') as resent,
           array_agg((h.detail ->> 'attempt')::integer) filter (where h.to_state = 'Pending' and h.from_state <> 'Sending') as released
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id and h.kind in ('CommandWritten', 'CommandRetried', 'CommandReconciled')
     group by (h.detail ->> 'command')::uuid),
  lost as (
    select a.outbox_id, max(a.attempt) as attempt
      from bpm_core.delivery_attempt a
     where a.tenant_id = p_tenant_id and a.outcome = 'Unknown'
     group by a.outbox_id)
  select bpm_core.violation_of('I-23', o.tenant_id, 'command', o.command_id::text, x.rule,
           jsonb_build_object('state', o.state, 'attempt', o.attempt, 'first_sent_at', o.first_sent_at, 'destination', o.destination_code))
    from bpm_core.outbox o
    left join told t on t.command_id = o.command_id
    left join lost l on l.outbox_id = o.id
   cross join lateral (values
     ('its payload is not the one that was hashed', o.payload_hash <> bpm_core.payload_hash(o.payload)),
     ('history does not know its id', o.created_at >= (select bpm_core.history_since()) and not coalesce(t.written, false)),
     ('sent again by itself although the profile forbids it', t.resent and not (o.destination_snapshot ->> 'resend_allowed')::boolean),
     ('on its way again though nobody decided so',
      l.attempt = case o.state when 'Pending' then o.attempt when 'Sending' then o.attempt - 1 end
      and l.attempt <> all (coalesce(t.released, '{}'))))
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
  union all
  select bpm_core.violation_of('I-23', p_tenant_id, 'sequence', q.sequence_key, 'two of one sequence are under way',
           jsonb_build_object('destination', q.destination_code, 'commands', q.commands))
    from (select o.destination_code, o.sequence_key, jsonb_agg(o.command_id) as commands
            from bpm_core.outbox o
           where o.tenant_id = p_tenant_id and o.sequence_key is not null and o.state in ('Sending', 'Unknown', 'Reconciling', 'Manual')
           group by o.destination_code, o.sequence_key
          having count(*) > 1) q
  ) q(v);
end
$$;
