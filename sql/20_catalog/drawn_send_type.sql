-- The task type of a command that a message throw or end event sends, when the drawing says how: as for send tasks, on the event or on its
-- message definition; a destination alone gives it the id of the node.
-- Returns:  text; null: nothing says how it is sent.
create or replace function bpm_core.drawn_send_type(p_node_id text, p_attributes jsonb, p_definition jsonb, p_extensions jsonb)
returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select t.task_type
    from bpm_core.drawn_task_type(p_node_id, coalesce(p_definition, '{}') || p_attributes, p_extensions) t
   where t.task_type <> p_node_id or t.borrowed is not null or btrim(p_attributes ->> 'bpm:destination') <> '' or btrim(p_attributes ->> 'bpm:type') <> ''
$$;
