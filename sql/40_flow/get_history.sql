-- What happened to a process instance, oldest first, page by page.
-- Returns:  rows as of bpm.history with seq above p_after_seq; hand in the last seq seen to go on.
-- Raises:   BP403, BP404, BP422 limit (1..10000).
create or replace function bpm.get_history(
  p_process_instance_id uuid, p_limit integer default 1000, p_after_seq bigint default 0, p_tenant_id text default '')
returns table (seq bigint, at timestamptz, workflow_instance_id uuid, category text, kind text, token_id uuid, node_id text,
               from_state text, to_state text, actor text, detail jsonb)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_workflows uuid[];
  v_since     timestamptz;
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  if p_limit is null or p_limit not between 1 and 10000 then
    perform bpm_core.fail('BP422', format('The limit must be 1 to 10000, not %s.', coalesce(p_limit::text, 'null')),
      jsonb_build_object('limit', p_limit));
  end if;
  v_workflows := bpm_core.workflows_of(p_tenant_id, p_process_instance_id);
  -- Months before the instance are not looked into; a day of slack for clocks that were set back.
  select p.created_at - interval '1 day' into v_since
    from bpm_core.process_instance p
   where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  return query
  select h.seq, h.at, h.workflow_instance_id, h.category, h.kind, h.token_id, h.node_id, h.from_state, h.to_state, h.actor, h.detail
    from bpm.history h
   where h.tenant_id = p_tenant_id and h.workflow_instance_id = any (v_workflows) and h.at >= v_since
     and h.seq > coalesce(p_after_seq, 0)
   order by h.seq
   limit p_limit;
end
$$;
