-- Over which flows into an inclusive join a token can still come: a bit per flow, null: none. One that stands before the join itself (parked, stopped)
-- comes over the flow it is on. Called in FROM, where it is inlined.
-- p_join: the join it is asked for. Returns: one row, bits.
create or replace function bpm_core.token_reach(
  p_tenant_id text, p_version_id uuid, p_join text, p_first_place integer, p_filled bit varying, p_node_id text, p_flow_id text)
returns table (bits bit varying)
language sql stable
as $$
  select case
    when p_node_id = p_join and p_flow_id is not null then
      (select set_bit(p_filled # p_filled, p.place - p.first_place, 1)
         from bpm_core.inclusive_flow p
        where p.tenant_id = p_tenant_id and p.workflow_version_id = p_version_id and p.node_id = p_join and p.flow_id = p_flow_id)
    else
      (select substring(r.reach from p_first_place + 1 for length(p_filled))
         from bpm_core.inclusive_reach r
        where r.tenant_id = p_tenant_id and r.workflow_version_id = p_version_id and r.node_id = p_node_id)
  end
$$;
