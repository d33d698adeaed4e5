-- Whether a node needs a plain node behind it (lower_graph): a fork, a choice or an inclusive split, the end of an end event that throws
-- something first, or the end of a path that a boundary event begins and that leads nowhere.
-- Returns:  ':split', ':choice', ':inclusive', ':end', or null.
create or replace function bpm_core.implied_node(
  p_tag text, p_kind bpm_core.node_kind, p_incoming integer, p_outgoing integer, p_conditional integer, p_default_ref text)
returns text
language sql immutable parallel safe
as $$
  select case
    when p_kind = 'EventSubProcess' then ':end'
    when p_tag = 'endEvent' then case when p_kind in ('SendTask', 'SignalThrow', 'EscalationThrow', 'CompensationThrow') then ':end' end
    when p_tag = 'boundaryEvent' and p_outgoing = 0 then case when p_kind <> 'CompensationBoundary' then ':end' end
    when p_tag = 'parallelGateway' then case when p_incoming > 1 and p_outgoing > 1 then ':split' end
    when p_tag = 'inclusiveGateway' then case when p_incoming > 1 and (p_outgoing > 1 or p_conditional > 0) then ':split' end
    when p_tag like '%Gateway' then null
    when p_conditional = 1 and (p_outgoing = 1 or (p_outgoing = 2 and p_default_ref is not null)) then ':choice'
    when p_outgoing > 1 and (p_conditional > 0 or p_default_ref is not null) then ':inclusive'
    when p_outgoing > 1 then ':split'
  end
$$;
