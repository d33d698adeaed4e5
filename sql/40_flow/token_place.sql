-- Where a token is, for the answers of operators' calls.
-- Returns:  one row: token_id, node_id, state, instance_status.
create or replace function bpm_core.token_place(p_tenant_id text, p_token_id uuid)
returns table (token_id uuid, node_id text, state text, instance_status text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select t.id, t.node_id, t.state::text, w.status::text
    from bpm_core.token t
   cross join lateral (select w.status from bpm_core.workflow_instance w where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
   where t.tenant_id = p_tenant_id and t.id = p_token_id;
end
$$;
