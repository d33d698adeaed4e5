-- The compiled tree of a timer's rule that is an expression which does more than name a variable.
-- Returns:  jsonb {timer: tree}, empty for any other.
create or replace function bpm_core.timer_expression(p_rule text, p_path text)
returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when p_path is null and p_rule ~ '^\s*=|[$#]\{' then jsonb_build_object('timer', (bpm_core.compile_expression(p_rule)).tree) else '{}'::jsonb end
$$;
