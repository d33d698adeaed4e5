-- The distinct values of an array, in order; null of null.
create or replace function bpm_core.sorted_set(p_values integer[])
returns integer[]
language sql immutable parallel safe
as $$ select array_agg(distinct v order by v) from unnest(p_values) v $$;
