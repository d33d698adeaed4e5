-- The position after a pick. p_last_* is the last row handed out (null: none), p_exhausted that there was no more to hand out; the pick lasted from
-- p_began to p_ended. Where it was exhausted, what was reached is the
-- clock of the pick but for p_slack: what died without being handed out (leases given up, timers cancelled) is not walked again. Rows written meanwhile
-- are due at the clock of their writer, so most of those that commit a little later lie within a second; the others are stragglers. What falls due a second
-- after it was written, or later, needs no slack: leases.
-- What was reached, and the mark, under a clock that has since been set back count for nothing once a whole scan was made: rows of now are due before them.
-- The horizon is read here, after the pick: a writer that began before a row we saw commit must still lie below it.
-- In SQL, so that it is inlined into the statement that gives back many positions at once.
-- Returns:  one row: pick_position.
create or replace function bpm_core.position_after(
  p_position bpm_core.pick_position, p_look_back boolean, p_settled boolean, p_whole boolean,
  p_last_at timestamptz, p_last_id uuid, p_exhausted boolean, p_began timestamptz, p_ended timestamptz,
  p_slack interval default interval '1 second')
returns setof bpm_core.pick_position
language sql stable rows 1
as $$
  select r.at, case when r.at = r.last_at then r.last_id else '00000000-0000-0000-0000-000000000000' end,
         case when r.marks then coalesce(r.mark_at, '-infinity') - interval '1 millisecond' else p_position.safe_at end,
         case when r.marks then r.at else p_position.mark_at end,
         case when r.marks then bpm_core.next_transaction() else p_position.horizon end,
         -- More stragglers than one batch: look back again at once, the mark stays.
         case when not p_look_back then p_position.checked_at when p_settled and not r.marks then '-infinity' else p_ended end,
         case when p_look_back then p_ended - p_began else p_position.check_cost end,
         -- Past what was reached before there are no stragglers. Waiting for the end of a long queue would walk it from its head with every pick.
         case when p_look_back and p_whole and (p_exhausted or r.passed) then p_ended else p_position.full_at end
    from (select e.*, case when p_exhausted then greatest(e.last_at, p_began - p_slack) else e.last_at end as at
            from (select f.passed, f.marks, f.mark_at, case when f.passed then p_last_at else f.from_at end as last_at, case when f.passed then p_last_id else f.from_id end as last_id
                    from (select b.*, coalesce((p_last_at, p_last_id) > (b.from_at, b.from_id), false) as passed,
                                 p_look_back and p_settled and (p_exhausted or b.mark_at is null or coalesce(p_last_at > b.mark_at, false)) as marks
                            from (select case when p_whole and p_position.reached_at > p_ended then '-infinity' else coalesce(p_position.reached_at, '-infinity') end as from_at,
                                         coalesce(p_position.reached_id, '00000000-0000-0000-0000-000000000000') as from_id,
                                         case when p_position.mark_at <= p_ended then p_position.mark_at end as mark_at offset 0) b offset 0) f offset 0) e offset 0) r
$$;
