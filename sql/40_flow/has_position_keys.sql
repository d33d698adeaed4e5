-- Does a value have the keys of a picker's position and no others? Inlined into its caller.
-- Returns:  boolean; true for none.
create or replace function bpm_core.has_position_keys(p_position jsonb)
returns boolean
language sql immutable
as $$
  select p_position is null or p_position = 'null'
         or jsonb_typeof(p_position) = 'object'
            and p_position - '{reached_at,reached_id,safe_at,mark_at,horizon,checked_at,check_cost,full_at}'::text[] = '{}'
$$;
