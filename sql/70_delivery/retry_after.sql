-- The delay a receiver asked for in an item of marks. It may ask for patience, not for being forgotten: a day at most.
-- Returns:  interval; null: it asked for none.
create or replace function bpm_core.retry_after(p_item jsonb)
returns interval
language sql immutable
as $$
  select case when (p_item ->> 'retry_after_seconds') is not null
              then make_interval(secs => round(least((p_item ->> 'retry_after_seconds')::numeric, 86400), 6)::float8) end
$$;
