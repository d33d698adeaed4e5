-- Under the locks of their instances: of commands that are to be sent again, or are being sent again, because an attempt's end was not known (a probe
-- had said that it never arrived, or the receiver honours keys): that this attempt did arrive after all makes them Sent, and they are sent no more.
-- What is under way already cannot be called back; that attempt ends with the command, and what it reports is too late.
-- A row that a claim is just taking is waited for: it holds it only for a moment and waits for nobody.
-- Writes:   as move_commands. Locks: outbox.
create or replace function bpm_core.accept_late_marks(p_tenant_id text, p_marks bpm_core.mark[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_late uuid[] := array(
    select o.id
      from (select p_tenant_id as tenant_id, x.* from unnest(p_marks) x offset 0) m
     cross join lateral (select o.id, o.state, o.fencing_token from bpm_core.outbox o
                          where o.tenant_id = m.tenant_id and o.command_id = m.command_id offset 0) o
     where o.state = 'Pending' or o.state = 'Sending' and o.fencing_token > m.fencing_token);
begin
  if cardinality(v_late) = 0 then
    return;
  end if;
  perform
     from (select p_tenant_id as tenant_id, l.id from unnest(v_late) l(id) offset 0) l
     join bpm_core.outbox o on o.tenant_id = l.tenant_id and o.id = l.id
    order by o.id
      for no key update of o;
  -- A new statement: it sees what a claim that was waited for did.
  perform bpm_core.move_commands(p_tenant_id, array(
    select distinct on (o.id)
           row(o.id, v.state, v.arrived, v.failure, m.reported, m.receipt, m.detail, m.retry_in, m.content_hash, a.attempt, null)::bpm_core.command_move
      from (select p_tenant_id as tenant_id, x.* from unnest(p_marks) x offset 0) m
     cross join lateral (select o.tenant_id, o.id, o.state, o.destination_snapshot from bpm_core.outbox o
                          where o.tenant_id = m.tenant_id and o.command_id = m.command_id offset 0) o
     cross join lateral jsonb_populate_record(null::bpm_core.destination, o.destination_snapshot) d
     cross join lateral bpm_core.judge_delivery(m.reported, m.receipt, d, true, true) v
     cross join lateral (
        select t.attempt
          from bpm_core.delivery_attempt t
         where t.tenant_id = o.tenant_id and t.outbox_id = o.id and t.fencing_token = m.fencing_token and t.outcome = 'Unknown'
        offset 0) a
     where o.id = any (v_late) and o.state in ('Pending', 'Sending') and v.state = 'Sent'
     order by o.id, m.item));
end
$$;
