-- A point in time inside an evaluation: a text that no variable can be, for variables do not begin like that.
create or replace function bpm_core.instant_value(p_at timestamptz)
returns jsonb
language sql immutable parallel safe
as $$
  select to_jsonb('__instant:' || to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') || rtrim(rtrim(to_char(p_at at time zone 'UTC', '.US'), '0'), '.') || 'Z')
$$;
