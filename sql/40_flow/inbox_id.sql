-- An id for a row behind those that are set aside for a suspended instance: ids of one millisecond come in no order, and answers that were
-- accepted one after the other are to be applied so. Takes a millisecond at most. The instance is locked.
-- Returns:  uuid.
create or replace function bpm_core.inbox_id(p_instance_id uuid)
returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_last uuid;
  v_id   uuid := bpm_core.new_id();
begin
  select i.id into v_last
    from (select i.id, i.available_at from bpm_core.inbox i where i.target_id = p_instance_id offset 0) i
   where i.available_at = 'infinity'
   order by i.id desc
   limit 1;
  while v_id <= v_last loop
    v_id := bpm_core.new_id();
  end loop;
  return v_id;
end
$$;
