-- The occurrence of a repeating timer after the one it stands at: on its own grid, and with catch_up All the very next one, else the first that is
-- not past. Missed ones count as used.
-- Returns:  scheduled_at, null when there is none any more, and remaining.
create or replace function bpm_core.next_occurrence(p_timer bpm_core.timer, p_now timestamptz, out scheduled_at timestamptz, out remaining integer)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rule text := (bpm_core.split_zone(p_timer.rule)).rule;
  v_now  timestamptz := case when p_timer.catch_up = 'All' then p_timer.scheduled_at else p_now end;
  v_step interval;
  r_next record;
begin
  if p_timer.kind = 'Cron' then
    scheduled_at := bpm_core.cron_next((bpm_core.parse_cron(v_rule)).cron, p_timer.time_zone,
                                       greatest(p_timer.scheduled_at, v_now - interval '1 microsecond'));
  elsif p_timer.kind = 'Cycle' then
    v_step := (bpm_core.parse_cycle(v_rule, p_timer.time_zone)).step;
    select n.scheduled_at, n.skipped into r_next
      from bpm_core.timer_next(p_timer.anchor_at, v_step, p_timer.scheduled_at, v_now, coalesce(p_timer.time_zone, 'UTC')) n;
    -- Null stays null: for ever. Of a cycle that began centuries ago more may have been missed than an integer holds.
    remaining := case when p_timer.remaining is not null then greatest(p_timer.remaining - 1 - r_next.skipped, 0)::integer end;
    scheduled_at := case when coalesce(remaining, 1) > 0 then r_next.scheduled_at end;
  end if;
end
$$;
