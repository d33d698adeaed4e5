-- A flow the compiler adds, in the process and scope of a node.
create or replace function bpm_core.plain_flow(p_beside bpm_core.draft_node, p_flow_id text, p_source_id text, p_target_id text)
returns bpm_core.draft_flow
language sql immutable
as $$
  select row(p_beside.pos, p_beside.process_pos, p_beside.scope_pos, p_flow_id, null, null, null, p_source_id, p_target_id, false, null, null, null, null,
             1, null)::bpm_core.draft_flow
$$;
