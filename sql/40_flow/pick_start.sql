-- Where does this pick begin? (law 12) From what was reached, or further back: when every writer of before the mark has ended,
-- when a long writer has kept that waiting for a while, and from the very beginning about every 30 seconds.
-- In SQL, so that it is inlined into the statement that asks for many positions at once.
-- Returns:  one row: from_at, from_id (exclusive), look_back, settled, whole. Call it before the pick, pick_end after it.
create or replace function bpm_core.pick_start(p_position bpm_core.pick_position, p_now timestamptz)
returns table (from_at timestamptz, from_id uuid, look_back boolean, settled boolean, whole boolean)
language sql stable rows 1
as $$
  select case when b.whole then '-infinity'
              when b.look_back then coalesce(p_position.safe_at, '-infinity') else coalesce(p_position.reached_at, '-infinity') end,
         case when b.look_back then uuid '00000000-0000-0000-0000-000000000000'
              else coalesce(p_position.reached_id, '00000000-0000-0000-0000-000000000000') end,
         b.look_back, b.settled, b.whole
    from (select w.whole, w.settled,
                 w.whole or w.settled or coalesce(p_now > p_position.checked_at + greatest(interval '1 second', 20 * p_position.check_cost), false) as look_back
            -- A look back in the future was under a clock that has since been set back.
            from (select p_position.full_at is null or p_now not between p_position.full_at and p_position.full_at + interval '30 seconds'
                           or coalesce(p_position.checked_at > p_now, false) as whole,
                         p_position.horizon is null or pg_snapshot_xmin(pg_current_snapshot()) >= p_position.horizon as settled) w) b
$$;
