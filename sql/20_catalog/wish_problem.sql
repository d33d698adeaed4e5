-- What is wrong with a wish that is a plain text. Dates are ISO 8601 dates or durations from the moment the task is offered; priorities are
-- high, normal, low, or a number.
-- Returns:  text; null when nothing is.
create or replace function bpm_core.wish_problem(p_name text, p_text text)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_name in ('due', 'follow_up') and bpm_core.parse_timestamp(p_text) is null and bpm_core.parse_duration(p_text) is null
      then format('%s date %s is neither an ISO 8601 date nor a duration', case p_name when 'due' then 'due' else 'follow-up' end, quote_literal(left(p_text, 50)))
    when p_name = 'priority' and bpm_core.priority_level(to_jsonb(p_text), 50) is null
      then format('priority %s is not high, normal or low, nor a number', quote_literal(left(p_text, 50))) end
$$;
