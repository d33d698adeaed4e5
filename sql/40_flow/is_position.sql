-- Is this a position a picker can count with? Times and costs far outside of any clock are forged. Inlined into its caller.
-- Returns:  boolean; true for none.
create or replace function bpm_core.is_position(p_position bpm_core.pick_position)
returns boolean
language sql stable
as $$
  select coalesce(least(nullif(p_position.reached_at, '-infinity'), nullif(p_position.safe_at, '-infinity'), nullif(p_position.mark_at, '-infinity'),
                        nullif(p_position.checked_at, '-infinity'), nullif(p_position.full_at, '-infinity')) >= '0001-01-01Z', true)
     and coalesce(greatest(p_position.reached_at, p_position.safe_at, p_position.mark_at, p_position.checked_at, p_position.full_at) <= '9999-01-01Z', true)
     and coalesce(p_position.check_cost between interval '-10000 days' and interval '10000 days', true)
$$;
