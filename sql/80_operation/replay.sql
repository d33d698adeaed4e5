-- Rebuilds the tokens of one workflow instance from history: as they were after the row p_upto, or as they are.
-- Returns:  one row per token born until then: token_id, node_id, state. The same every time; without p_upto equal to the live tokens (I-14).
-- Raises:   BP403, BP404.
create or replace function bpm.replay(p_workflow_instance_id uuid, p_upto bigint default null, p_tenant_id text default '')
returns table (token_id uuid, node_id text, state text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  if not exists (select from bpm_core.workflow_instance w where w.tenant_id = p_tenant_id and w.id = p_workflow_instance_id) then
    perform bpm_core.fail('BP404', format('There is no workflow instance %s.', coalesce(p_workflow_instance_id::text, 'null')),
      jsonb_build_object('workflow_instance_id', p_workflow_instance_id), 'bpm.instance and bpm.history name them.');
  end if;
  return query
  select r.token_id, r.node_id, r.state
    from bpm_core.replay_tokens(p_tenant_id, p_workflow_instance_id, p_upto) r
   order by r.token_id;
end
$$;
