-- A flow as drawn, but for its source when that is the node named: then it leaves from another.
create or replace function bpm_core.leave_from(p_flow bpm_core.draft_flow, p_scope_pos integer, p_from text, p_to text)
returns bpm_core.draft_flow
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow bpm_core.draft_flow := p_flow;
begin
  if v_flow.scope_pos = p_scope_pos and v_flow.source_id = p_from then
    v_flow.source_id := p_to;
  end if;
  return v_flow;
end
$$;
