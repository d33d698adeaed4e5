-- A tree that calculates with times says so at its root: only then evaluation asks for the clock, and looks for times in its result.
create or replace function bpm_core.timed_tree(p_tree jsonb)
returns jsonb
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when p_tree::text ~ '"name": "(now|today|date|time|date and time|duration|literal time)"' then p_tree || '{"timed": true}' else p_tree end
$$;
