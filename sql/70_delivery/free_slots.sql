-- Attempts that ended give their slots back.
-- Writes:   destination_slot.
create or replace function bpm_core.free_slots(p_tenant_id text, p_moves bpm_core.command_move[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_held record;
begin
  -- Row by row, by the whole key: few destinations count their senders, and over a table that is nearly always empty a set would be planned as one scan.
  for r_held in
    select o.tenant_id, o.destination_id, o.slot, o.command_id
      from (select p_tenant_id as tenant_id, m.outbox_id from unnest(p_moves) m offset 0) m
     cross join lateral (select o.tenant_id, o.destination_id, o.slot, o.command_id from bpm_core.outbox o
                          where o.tenant_id = m.tenant_id and o.id = m.outbox_id offset 0) o
     where o.slot is not null
     order by o.destination_id, o.slot
  loop
    update bpm_core.destination_slot s
       set free_at = least(s.free_at, bpm_core.now()), command_id = null
     where s.tenant_id = r_held.tenant_id and s.destination_id = r_held.destination_id and s.kind = 'Concurrency' and s.slot = r_held.slot
       and s.command_id = r_held.command_id;
  end loop;
end
$$;
