-- The positions to hand back after a claim. Types that were not asked for this time are dropped: their position would grow stale.
-- A claim that filled its limit has emptied the slots before the one it stopped in and has not looked into those behind it; where a quota was full there may
-- be more in the slots of that type. The slot of a task that overtook has its number below nothing.
-- Returns:  jsonb {task_type: [high, normal, low]}.
create or replace function bpm_core.close_slots(p_scans bpm_core.slot_scan[], p_claimed bpm_core.claimed_task[], p_stopped_in integer, p_limited text[], p_began timestamptz)
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  return (
    select jsonb_object_agg(p.task_type, p.positions)
      from (
        select s.task_type,
               jsonb_agg(to_jsonb(bpm_core.pick_end(s.position, s.look_back, s.settled, s.whole, c.last_at, c.last_id,
                                                   s.n < coalesce(p_stopped_in, 1000) and (p_limited is null or s.task_type <> all (p_limited)), p_began))
                         order by s.priority_level) as positions
          from unnest(p_scans) with ordinality s(task_type, priority_level, from_at, from_id, look_back, settled, whole, position, n)
          left join (
            select distinct on (abs(k.slot)) abs(k.slot) as slot, k.available_at as last_at, k.task_id as last_id
              from unnest(p_claimed) k
             order by abs(k.slot), k.available_at desc, k.task_id desc) c on c.slot = s.n
         group by s.task_type) p);
end
$$;
