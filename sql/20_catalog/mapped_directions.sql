-- The directions of mappings that are executed at an element. p_event: of a sub-process that an event begins, anything; of any other, null.
-- Returns:  {in,out}, {in}, {out} or {}.
create or replace function bpm_core.mapped_directions(p_tag text, p_event text)
returns text[]
language sql immutable parallel safe
as $$
  select case
    when p_tag in ('serviceTask', 'userTask', 'scriptTask', 'businessRuleTask') or (p_tag in ('subProcess', 'transaction') and p_event is null) then '{in,out}'::text[]
    when p_tag = 'sendTask' or (p_tag in ('intermediateThrowEvent', 'endEvent') and p_event = 'message') then '{in}'
    when p_tag = 'receiveTask' or (p_tag in ('intermediateCatchEvent', 'boundaryEvent') and p_event = 'message') then '{out}'
    else '{}' end
$$;
