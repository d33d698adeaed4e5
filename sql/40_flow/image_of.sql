-- The node that a node of the old version becomes: what the mapping says of it, else the one of the same id. A node that the compiler put around or
-- behind another (x:multi) goes with that one.
-- Returns:  text; null: the mapping gives it up.
create or replace function bpm_core.image_of(p_mapping jsonb, p_node_id text)
returns text
language sql immutable parallel safe
as $$
  select case when p_mapping = '{}' then p_node_id
              when p_mapping ? p_node_id then p_mapping ->> p_node_id
              when p_mapping ? split_part(p_node_id, ':', 1)
                then (p_mapping ->> split_part(p_node_id, ':', 1)) || substr(p_node_id, length(split_part(p_node_id, ':', 1)) + 1)
              else p_node_id end
$$;
