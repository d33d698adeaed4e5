-- A flow, now leaving another node.
create or replace function bpm_core.flow_from(p_flow bpm_core.draft_flow, p_source_id text)
returns bpm_core.draft_flow
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow bpm_core.draft_flow := p_flow;
begin
  v_flow.source_id := p_source_id;
  return v_flow;
end
$$;
