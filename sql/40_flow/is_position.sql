-- Is this a position a picker can count with? Times and costs far outside of any clock are forged. Inlined into its caller.
-- Returns:  boolean; true for none.
create or replace function bpm_core.is_position(p_position bpm_core.pick_position)
returns boolean
language sql immutable
as $$
  select coalesce((p_position.reached_at = '-infinity' or p_position.reached_at between '0001-01-01Z' and '9999-01-01Z'), true)
     and coalesce((p_position.safe_at = '-infinity' or p_position.safe_at between '0001-01-01Z' and '9999-01-01Z'), true)
     and coalesce((p_position.mark_at = '-infinity' or p_position.mark_at between '0001-01-01Z' and '9999-01-01Z'), true)
     and coalesce((p_position.checked_at = '-infinity' or p_position.checked_at between '0001-01-01Z' and '9999-01-01Z'), true)
     and coalesce((p_position.full_at = '-infinity' or p_position.full_at between '0001-01-01Z' and '9999-01-01Z'), true)
     and coalesce(p_position.check_cost between interval '-10000 days' and interval '10000 days', true)
$$;
