-- Are these arguments every claim takes, of the kind most have? check_claim knows the others, and what is wrong with them. Inlined into its caller: one condition
-- without a query, since each query of a small call costs more than one would think.
-- Returns:  boolean.
create or replace function bpm_core.is_usual_claim(p_worker text, p_types text[], p_limit integer, p_lease interval, p_request_id text)
returns boolean
language sql immutable parallel safe
as $$
  select coalesce(length(btrim(p_worker)) between 1 and 200 and p_limit between 1 and 1000 and p_lease is null and p_request_id is null
                  and cardinality(p_types) between 1 and 3 and array_position(p_types, null) is null and 'bpm:user' <> all (p_types)
                  and (p_types[1] = any (p_types[2:3]) or p_types[2] = p_types[3]) is not true, false)
$$;
