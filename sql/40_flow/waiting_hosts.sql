-- The hosts that inbox rows of called instances speak to, where they still wait for them: at the same visit of the call activity.
-- Returns:  one row per such inbox row: its id, payload and the host, resting.
create or replace function bpm_core.waiting_hosts(p_tenant_id text, p_rows bpm_core.inbox[])
returns table (inbox_id uuid, payload jsonb, host bpm_core.moving)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select r.id, r.payload,
         row(p_tenant_id, t.workflow_instance_id, w.workflow_version_id, t.scope_id, t.id, t.node_id, t.via_flow_id, null)::bpm_core.moving
    from unnest(p_rows) r
   cross join lateral (select t.* from bpm_core.token t where t.tenant_id = p_tenant_id and t.id = (r.payload ->> 'host')::uuid offset 0) t
   cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                        where w.tenant_id = p_tenant_id and w.id = t.workflow_instance_id offset 0) w
   where t.state = 'Waiting' and t.visit = (r.payload ->> 'visit')::integer;
end
$$;
