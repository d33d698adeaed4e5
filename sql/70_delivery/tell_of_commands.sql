-- Domain events of commands that were sent, failed, or became Unknown.
-- Writes:   event_outbox.
create or replace function bpm_core.tell_of_commands(p_tenant_id text, p_moves bpm_core.command_move[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_told record;
begin
  perform from bpm_core.event_stream s where s.tenant_id = p_tenant_id;
  if not found then
    return;
  end if;
  for r_told in
    select m.state, array_agg(o.workflow_instance_id order by o.id) as instances,
           array_agg(jsonb_build_object('command', o.command_id, 'node', o.node_id, 'destination', o.destination_code, 'receipt', o.receipt) order by o.id) as details
      from (select p_tenant_id as tenant_id, m.* from unnest(p_moves) m where m.state in ('Sent', 'Failed', 'Unknown') offset 0) m
      join bpm_core.outbox o on o.tenant_id = m.tenant_id and o.id = m.outbox_id
     group by m.state
  loop
    perform bpm_core.emit_events(p_tenant_id, 'Command' || r_told.state, r_told.instances, r_told.details);
  end loop;
end
$$;
