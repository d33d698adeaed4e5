-- A path of names as jsonpath, every key quoted. Root is $, or @ inside a filter.
create or replace function bpm_core.write_path(p_root text, p_path jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$ select p_root || string_agg('.' || n.name::text, '' order by n.ord) from jsonb_array_elements(p_path) with ordinality n (name, ord) $$;
