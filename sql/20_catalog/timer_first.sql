-- When a timer that is armed now falls due first.
-- A cycle keeps the grid anchor + k * step: without a start its anchor is now and the first point k = 1; with a start it is k = 0, or the
-- first point not yet past (missed ones count as used; when all are past, the last one is due at once).
-- Returns:  one row: anchor_at, step (cycles), scheduled_at, and remaining: how often it still fires, this time included (null: for ever).
--           No row when the rule is not valid for its kind; at deploy that is a fault, at run time it can come from a variable.
create or replace function bpm_core.timer_first(p_kind text, p_rule text, p_now timestamptz)
returns table (anchor_at timestamptz, step interval, scheduled_at timestamptz, remaining integer)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_repeats integer;
  v_starts  timestamptz;
  v_k       bigint;
begin
  remaining := 1;
  if p_kind = 'Duration' then
    anchor_at := p_now;
    scheduled_at := bpm_core.timer_at(p_now, bpm_core.parse_duration(p_rule), 1);
  elsif p_kind = 'Date' then
    anchor_at := bpm_core.parse_timestamp(p_rule);
    scheduled_at := anchor_at;
  elsif p_kind = 'Cycle' then
    select c.repeats, c.starts_at, c.step into v_repeats, v_starts, step from bpm_core.parse_cycle(p_rule) c;
    anchor_at := coalesce(v_starts, p_now);
    v_k := case when v_starts is null then 1 else least(bpm_core.timer_point(v_starts, step, p_now), v_repeats - 1) end;
    scheduled_at := bpm_core.timer_at(anchor_at, step, v_k);
    remaining := (v_repeats - v_k)::integer + case when v_starts is null then 1 else 0 end;
  end if;
  if scheduled_at is not null then
    return next;
  end if;
end
$$;
