-- Rebuilds tokens from history and the immutable graph alone.
-- p_instance_id null: of all instances of the tenant. p_upto null: to the end, else up to that seq.
-- Returns:  one row per token ever born: where it stands and in which state.
create or replace function bpm_core.replay_tokens(p_tenant_id text, p_instance_id uuid, p_upto bigint)
returns table (workflow_instance_id uuid, token_id uuid, node_id text, state text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  select distinct on (s.workflow_instance_id, s.token_id) s.workflow_instance_id, s.token_id, s.node_id, s.state
    from bpm_core.token_step s
   where s.tenant_id = p_tenant_id
     and (p_instance_id is null or s.workflow_instance_id = p_instance_id)
     and (p_upto is null or s.seq <= p_upto)
   order by s.workflow_instance_id, s.token_id, s.seq desc;
end
$$;
