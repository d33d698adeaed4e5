-- A timer's rule as people write it: plain, in quotes, as a literal in an expression, or as an expression over variables.
-- p_zone: the time zone its element names (bpm:timeZone), if any.
-- Returns:  kind, rule (a literal without quotes, or ${path}), path (of the variable an expression names), tree (of an expression that does more), problem with hint when it is no
--           valid rule of its kind, and numbered: a cron rule with more than 5 fields names a weekday by its number.
create or replace function bpm_core.drawn_timer(
  p_kind text, p_source text, p_zone text default null, out kind text, out rule text, out path text, out problem text, out hint text, out numbered boolean, out tree jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_inner text := coalesce((regexp_match(btrim(p_source), '^[$#]\{(.*)\}$'))[1], (regexp_match(btrim(p_source), '^=(.*)$'))[1]);
begin
  kind := p_kind;
  numbered := false;
  rule := btrim(coalesce(v_inner, p_source));
  if rule ~ '^"[^"]*"$' or rule ~ '^''[^'']*''$' then
    rule := btrim(substr(rule, 2, length(rule) - 2));
  elsif v_inner is not null or p_source ~ '[$#]\{' then
    v_inner := p_source;
    path := bpm_core.expression_path(p_source);
    rule := coalesce('${' || path || '}', btrim(p_source));
    if path is null then
      select c.tree, format('The expression %s cannot be read: %s (position %s).', rule, c.problem, c.at) into tree, problem
        from bpm_core.compile_expression(p_source) c;
      problem := case when tree is null then problem end;
      hint := 'Write a literal (PT5M), or an expression that gives one: ${order.patience}, PT${minutes}M.';
    end if;
  end if;
  if problem is null and p_zone is not null and not bpm_core.known_zone(p_zone) then
    problem := format('%s is no time zone the server knows.', quote_literal(left(p_zone, 100)));
    hint := 'Name a region, such as Europe/Berlin, or UTC.';
  end if;
  if problem is not null or path is not null or tree is not null then
    return;
  elsif coalesce(rule, '') = '' then
    problem := 'It has no duration, date or cycle.';
    hint := 'Add timeDuration (PT5M), timeDate (2030-01-31T12:00:00Z) or timeCycle (R3/PT10M, 0 0 9 * * MON-FRI).';
  else
    kind := bpm_core.timer_kind(p_kind, (bpm_core.split_zone(rule)).rule);
    select x.problem, x.hint, x.numbered into problem, hint, numbered from bpm_core.timer_problem(kind, rule) x;
  end if;
end
$$;
