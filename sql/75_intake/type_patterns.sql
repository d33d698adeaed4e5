-- The event types of rules that a type falls under: itself, and its beginnings at each dot with a star.
-- Returns:  text[]; of order.line.added: order.line.added, order.line.*, order.*, *.
create or replace function bpm_core.type_patterns(p_event_type text)
returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select array[p_event_type, '*']
         || array(select array_to_string((string_to_array(p_event_type, '.'))[ : n.parts], '.') || '.*'
                    from generate_series(1, cardinality(string_to_array(p_event_type, '.')) - 1) n(parts))
$$;
