-- An attribute under whichever extension namespace carries it.
-- Returns:  text, trimmed; null when absent or empty.
create or replace function bpm_core.vendor_attribute(p_attributes jsonb, p_name text)
returns text
language sql immutable parallel safe
as $$
  select coalesce(nullif(btrim(p_attributes ->> ('bpm:' || p_name)), ''), nullif(btrim(p_attributes ->> ('camunda:' || p_name)), ''),
                  nullif(btrim(p_attributes ->> ('flowable:' || p_name)), ''))
$$;
