-- The tree of a value between two ends, each with its comparison.
create or replace function bpm_core.interval_tree(p_value jsonb, p_above text, p_low jsonb, p_below text, p_high jsonb)
returns jsonb
language sql immutable parallel safe
as $$
  select jsonb_build_object('op', 'and', 'args', jsonb_build_array(
    jsonb_build_object('op', p_above, 'left', p_value, 'right', p_low), jsonb_build_object('op', p_below, 'left', p_value, 'right', p_high)))
$$;
