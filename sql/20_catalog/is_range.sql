-- Whether two values are whole numbers, and what lies between them at most 10,000.
create or replace function bpm_core.is_range(p_low jsonb, p_high jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select case when jsonb_typeof(p_low) = 'number' and jsonb_typeof(p_high) = 'number'
    then p_low::numeric = trunc(p_low::numeric) and p_high::numeric = trunc(p_high::numeric) and abs(p_low::numeric) < 1000000000
         and abs(p_high::numeric) < 1000000000 and p_high::numeric - p_low::numeric <= 10000 else false end
$$;
