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
begin
  with held as materialized (
    select o.tenant_id, o.destination_id, o.slot, o.command_id
      from (select p_tenant_id as tenant_id, m.outbox_id from unnest(p_moves) m offset 0) m
      join bpm_core.outbox o on o.tenant_id = m.tenant_id and o.id = m.outbox_id
     where o.slot is not null)
  update bpm_core.destination_slot s
     set free_at = least(s.free_at, bpm_core.now()), command_id = null
    from held h
   where s.tenant_id = h.tenant_id and s.destination_id = h.destination_id and s.kind = 'Concurrency' and s.slot = h.slot
     and s.command_id = h.command_id;
end
$$;
