-- Keeps what the inclusive joins of a new version need to know of their graph: nothing when it has none.
-- Writes:   inclusive_flow, inclusive_reach.
create or replace function bpm_core.store_inclusive_joins(p_nodes bpm_core.workflow_node[], p_flows bpm_core.workflow_flow[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_places bpm_core.inclusive_flow[];
begin
  if not exists (select from unnest(p_nodes) n where n.kind = 'InclusiveJoin') then
    return;
  end if;
  v_places := array(select r from bpm_core.inclusive_flow_rows(p_nodes, p_flows) r);
  insert into bpm_core.inclusive_flow select r.* from unnest(v_places) r;
  insert into bpm_core.inclusive_reach select r.* from bpm_core.inclusive_reach_rows(p_nodes, p_flows, v_places) r;
end
$$;
