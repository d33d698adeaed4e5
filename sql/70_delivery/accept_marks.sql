-- Under the locks: takes the marks of attempts that are still leased under the fencing token shown. Beyond that, only one late answer counts:
-- that an attempt whose end nobody knew did arrive. Of several such marks of one command the first counts.
-- Writes:   as move_commands. Locks: as accept_late_marks, where some mark was of no use.
create or replace function bpm_core.accept_marks(p_tenant_id text, p_marks bpm_core.mark[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now   timestamptz := bpm_core.now();
  v_moves bpm_core.command_move[];
begin
  v_moves := array(
    -- The first that counts, not the first: a late mark under an old token must not stand before the right one in the same call.
    select distinct on (o.id)
           row(o.id, v.state, v.arrived, v.failure, m.reported, m.receipt, m.detail, m.retry_in, m.content_hash,
               coalesce(a.attempt, o.attempt), null)::bpm_core.command_move
      from (select p_tenant_id as tenant_id, x.* from unnest(p_marks) x offset 0) m
      join bpm_core.outbox o on o.tenant_id = m.tenant_id and o.command_id = m.command_id
     cross join lateral jsonb_populate_record(null::bpm_core.destination, o.destination_snapshot) d
     cross join lateral bpm_core.judge_delivery(m.reported, m.receipt, d, o.attempt < o.max_attempts, o.first_sent_at is not null) v
      left join lateral (
        select t.attempt
          from bpm_core.delivery_attempt t
         where t.tenant_id = o.tenant_id and t.outbox_id = o.id and t.fencing_token = m.fencing_token and t.outcome = 'Unknown'
        offset 0) a on true
     where case
             when o.state = 'Sending' then o.fencing_token = m.fencing_token and (o.lease_until > v_now or v.state = 'Sent')
             when o.state in ('Unknown', 'Reconciling', 'Manual') then v.state = 'Sent' and a.attempt is not null
             else false end
     order by o.id, m.item);
  perform bpm_core.move_commands(p_tenant_id, v_moves);
  if cardinality(v_moves) < cardinality(p_marks) then
    perform bpm_core.accept_late_marks(p_tenant_id, p_marks);
  end if;
end
$$;
