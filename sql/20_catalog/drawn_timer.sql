-- A timer's rule as people write it: plain, in quotes, as a literal in an expression, or as an expression naming a variable.
-- Returns:  kind, rule (a literal without quotes, or ${path}), path (of the variable an expression names), and
--           problem with hint when it is no valid rule of its kind.
create or replace function bpm_core.drawn_timer(p_kind text, p_source text, out kind text, out rule text, out path text, out problem text, out hint text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_inner text := coalesce((regexp_match(btrim(p_source), '^[$#]\{(.*)\}$'))[1], (regexp_match(btrim(p_source), '^=(.*)$'))[1]);
begin
  kind := p_kind;
  rule := btrim(coalesce(v_inner, p_source));
  if rule ~ '^"[^"]*"$' or rule ~ '^''[^'']*''$' then
    rule := btrim(substr(rule, 2, length(rule) - 2));
  elsif v_inner is not null then
    path := bpm_core.expression_path(p_source);
    rule := coalesce('${' || path || '}', btrim(p_source));
    if path is null then
      problem := format('The expression %s is not a dotted path into the variables.', rule);
      hint := 'Write a literal (PT5M), or the path of a variable that holds one: ${order.patience}.';
    end if;
    return;
  end if;
  if coalesce(rule, '') = '' then
    problem := 'It has no duration, date or cycle.';
    hint := 'Add timeDuration (PT5M), timeDate (2030-01-31T12:00:00Z) or timeCycle (R3/PT10M).';
  elsif p_kind = 'Duration' and bpm_core.parse_duration(rule) is null then
    problem := format('%s is not an ISO 8601 duration.', quote_literal(left(rule, 100)));
    hint := 'Examples: PT30S, PT5M, P1DT12H, P2W, P3M.';
  elsif p_kind = 'Date' and bpm_core.parse_timestamp(rule) is null then
    problem := format('%s is not an ISO 8601 date.', quote_literal(left(rule, 100)));
    hint := 'Examples: 2030-01-31, 2030-01-31T12:00:00Z, 2030-01-31T12:00:00+07:00. Without a zone it is UTC.';
  elsif p_kind = 'Cycle' and (select c.step from bpm_core.parse_cycle(rule) c) is null then
    problem := format('%s is not an ISO 8601 repeating interval of at least one second.', quote_literal(left(rule, 100)));
    hint := 'Examples: R/PT10M, R3/PT10M, R3/2030-01-31T12:00:00Z/P1D. Cron rules are not executed yet.';
  end if;
end
$$;
