-- The task type whose published version a node is pinned to: its own; of a user task the one it names, else bpm:user.
create or replace function bpm_core.pinned_type(p_node bpm_core.draft_node)
returns text
language sql immutable parallel safe
as $$ select case when p_node.kind = 'UserTask' then coalesce(nullif(btrim(p_node.attributes ->> 'bpm:type'), ''), p_node.task_type) else p_node.task_type end $$;
