-- When a timer that is armed now falls due first. p_zone: the time zone if the rule names none.
-- A cycle keeps the grid anchor + k * step: without a start its anchor is now and the first point k = 1; with a start it is k = 0, or the
-- first point not yet past (missed ones count as used; when all are past, the last one is due at once); with an end its points go back
-- from there.
-- Returns:  one row: anchor_at, step (cycles), scheduled_at, remaining: how often it still fires, this time included (null: for ever), kind, time_zone.
--           No row when the rule is not valid for its kind; at deploy that is a fault, at run time it can come from a variable.
create or replace function bpm_core.timer_first(p_kind text, p_rule text, p_now timestamptz, p_zone text default 'UTC')
returns table (anchor_at timestamptz, step interval, scheduled_at timestamptz, remaining integer, kind text, time_zone text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_rule  text;
  r_cycle record;
  v_k     bigint;
begin
  select z.rule, coalesce(z.zone, p_zone) into v_rule, time_zone from bpm_core.split_zone(p_rule) z;
  if time_zone <> 'UTC' and not bpm_core.known_zone(time_zone) then
    return;
  end if;
  kind := bpm_core.timer_kind(p_kind, v_rule);
  remaining := 1;
  anchor_at := p_now;
  if kind = 'Duration' then
    scheduled_at := bpm_core.timer_at(p_now, bpm_core.parse_duration(v_rule), 1, time_zone);
  elsif kind = 'Date' then
    anchor_at := bpm_core.parse_timestamp(v_rule, time_zone);
    scheduled_at := anchor_at;
  elsif kind = 'Cron' then
    scheduled_at := (select bpm_core.cron_next(c.cron, time_zone, p_now) from bpm_core.parse_cron(v_rule) c where c.problem is null);
    remaining := null;
  else
    select c.* into r_cycle from bpm_core.parse_cycle(v_rule, time_zone) c;
    step := r_cycle.step;
    anchor_at := coalesce(r_cycle.starts_at, r_cycle.ends_at, p_now);
    v_k := case
      when r_cycle.starts_at is not null then least(greatest(bpm_core.timer_point(anchor_at, step, p_now, time_zone), 0), r_cycle.repeats - 1)
      when r_cycle.ends_at is not null then least(greatest(bpm_core.timer_point(anchor_at, step, p_now, time_zone), 1 - r_cycle.repeats), 0)
      else 1 end;
    scheduled_at := bpm_core.timer_at(anchor_at, step, v_k, time_zone);
    remaining := case when r_cycle.starts_at is not null then r_cycle.repeats - v_k when r_cycle.ends_at is not null then 1 - v_k else r_cycle.repeats end::integer;
  end if;
  if scheduled_at is not null then
    return next;
  end if;
end
$$;
