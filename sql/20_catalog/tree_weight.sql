-- How many nodes a tree has, about.
create or replace function bpm_core.tree_weight(p_tree jsonb)
returns integer
language sql immutable parallel safe
as $$ select 1 + (length(p_tree::text) - length(replace(p_tree::text, '"op": ', ''))) / 6 $$;
