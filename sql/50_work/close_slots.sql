-- The positions to hand back after a claim that lasted from p_began to p_ended. Types that were not asked for this time are dropped: their position would
-- grow stale. A claim that filled its limit has emptied the slots before the one it stopped in and has not looked into those behind it;
-- where a quota was full there may be more in the slots of that type (p_limited). The slot of a task that overtook has its number below nothing.
-- Returns:  jsonb {task_type: {priority_level: position}}.
create or replace function bpm_core.close_slots(
  p_scans bpm_core.slot_scan[], p_claimed bpm_core.claimed_task[], p_exhausted boolean, p_limited text[], p_began timestamptz, p_ended timestamptz)
returns jsonb
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  -- What was claimed is in the order of the slots, but for what overtook: that stands first.
  v_stopped_in constant integer := p_claimed[cardinality(p_claimed)].slot;
begin
  return (
    select coalesce(jsonb_object_agg(p.task_type, p.positions), '{}')
      from (
        select s.task_type, jsonb_object_agg(s.priority_level, to_jsonb(e)) as positions
          from unnest(p_scans) with ordinality s(task_type, priority_level, from_at, from_id, look_back, settled, whole, position, n)
          left join lateral (
            select k.available_at, k.task_id
              from unnest(p_claimed) k
             where abs(k.slot) = s.n
             order by k.available_at desc, k.task_id desc
             limit 1) c on s.n <= v_stopped_in or p_claimed[1].slot < 0
         cross join lateral bpm_core.position_after(s.position, s.look_back, s.settled, s.whole, c.available_at, c.task_id,
                                                    (p_exhausted or s.n < v_stopped_in) and (p_limited is null or s.task_type <> all (p_limited)),
                                                     p_began, p_ended) e
         group by s.task_type) p);
end
$$;
