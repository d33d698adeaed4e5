-- Whether a node needs a plain node behind it (lower_graph).
-- Returns:  ':split', ':choice', or null.
create or replace function bpm_core.implied_node(p_node bpm_core.draft_node)
returns text
language sql immutable parallel safe
as $$
  select case
    when (p_node).tag = 'parallelGateway' then case when (p_node).incoming > 1 and (p_node).outgoing > 1 then ':split' end
    when (p_node).tag like '%Gateway' then null
    when (p_node).outgoing > 1 and (p_node).conditional = 0 then ':split'
    when (p_node).conditional = 1 and (p_node).outgoing = 1 then ':choice'
    when (p_node).conditional = 1 and (p_node).outgoing = 2 and (p_node).default_ref is not null then ':choice'
  end
$$;
