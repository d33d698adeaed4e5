-- What is wrong with a literal rule of a timer.
-- Returns:  problem and hint, null when it can be timed; numbered as parse_cron.
create or replace function bpm_core.timer_problem(p_kind text, p_rule text, out problem text, out hint text, out numbered boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_shown text := quote_literal(left(p_rule, 100));
  r_zone  record;
  r_cron  record;
begin
  numbered := false;
  select z.rule, z.zone into r_zone from bpm_core.split_zone(p_rule) z;
  if r_zone.zone is not null and not bpm_core.known_zone(r_zone.zone) then
    problem := format('%s names a time zone the server does not know.', v_shown);
    hint := 'Name a region, such as Europe/Berlin, or UTC.';
  elsif p_kind = 'Duration' and bpm_core.parse_duration(r_zone.rule) is null then
    problem := format('%s is not an ISO 8601 duration.', v_shown);
    hint := 'Examples: PT30S, PT5M, P1DT12H, P2W, P3M.';
  elsif p_kind = 'Date' and bpm_core.parse_timestamp(r_zone.rule) is null then
    problem := format('%s is not an ISO 8601 date.', v_shown);
    hint := 'Examples: 2030-01-31, 2030-01-31T12:00:00Z, 2030-01-31T12:00:00+07:00, 2030-01-31T12:00[Europe/Berlin].';
  elsif p_kind = 'Cycle' and (select c.step from bpm_core.parse_cycle(r_zone.rule) c) is null then
    problem := format('%s is not an ISO 8601 repeating interval of at least one second.', v_shown);
    hint := 'Examples: R/PT10M, R3/PT10M, R3/2030-01-31T12:00:00Z/P1D, R3/P1D/2030-01-31T12:00:00Z.';
  elsif p_kind = 'Cron' then
    select c.cron, c.problem, c.numbered into r_cron from bpm_core.parse_cron(r_zone.rule) c;
    numbered := coalesce(r_cron.numbered, false);
    if r_cron.problem is not null then
      problem := format('%s is neither an ISO 8601 repeating interval nor a cron rule: %s.', v_shown, r_cron.problem);
      hint := 'Examples: R/PT10M, R3/2030-01-31T12:00:00Z/P1D; 0 9 * * MON-FRI (minute first), 0 0 9 * * ? (second first), @daily.';
    elsif bpm_core.cron_wall(r_cron.cron, bpm_core.now() at time zone 'UTC') is null then
      problem := format('%s never comes: there is no such day within 100 years.', v_shown);
      hint := 'Look at day, month and year.';
    end if;
  end if;
end
$$;
