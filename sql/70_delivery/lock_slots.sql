-- Locks free slots of one kind of a destination, at most p_wanted, and makes the rows when the bound has grown.
-- Who makes rows waits for nobody: claims go through destinations in different orders, and two that made rows of each other's would wait for each other.
-- Returns:  integer[], the slots.
-- Writes:   destination_slot, when rows are missing. Locks: destination_slot, skip locked; the right to make rows, tried.
create or replace function bpm_core.lock_slots(
  p_tenant_id text, p_destination_id uuid, p_kind bpm_core.slot_kind, p_bound integer, p_wanted integer, p_now timestamptz)
returns integer[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform from bpm_core.destination_slot s where s.tenant_id = p_tenant_id and s.destination_id = p_destination_id and s.kind = p_kind and s.slot = p_bound;
  if not found and pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', p_destination_id, p_kind), 71)) then
    insert into bpm_core.destination_slot (tenant_id, destination_id, kind, slot, free_at)
    select p_tenant_id, p_destination_id, p_kind, n, '-infinity' from generate_series(1, p_bound) n
    on conflict do nothing;
  end if;
  return array(
    select s.slot
      from bpm_core.destination_slot s
     where s.tenant_id = p_tenant_id and s.destination_id = p_destination_id and s.kind = p_kind and s.slot <= p_bound and s.free_at <= p_now
     order by s.slot
     limit p_wanted
       for no key update skip locked);
end
$$;
