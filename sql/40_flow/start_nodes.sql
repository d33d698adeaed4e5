-- The start events of a process version that wait for something, with what its instances are pinned to; of one of several workflows those of the first
-- that begins.
-- Returns:  one row per event; name is that of the message or signal.
create or replace function bpm_core.start_nodes(p_tenant_id text, p_process_version_id uuid)
returns table (node_id text, kind bpm_core.node_kind, name text, timer_kind text, timer_rule text, time_zone text, catch_up text, workflow_version_id uuid, role_version_id uuid)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select n.node_id, n.kind, n.message_name, n.timer_kind, n.timer_rule, n.attributes ->> 'time_zone', coalesce(n.attributes ->> 'catch_up', 'Once'),
         b.workflow_version_id, w.owner_role_version_id
    from (select b.tenant_id, b.workflow_version_id
            from bpm_core.process_workflow_binding b
           where b.tenant_id = p_tenant_id and b.process_version_id = p_process_version_id
           order by b.depends_on <> '{}', b.position
           limit 1) b
   cross join lateral (
     select w.owner_role_version_id from bpm_core.workflow_version w where w.tenant_id = b.tenant_id and w.id = b.workflow_version_id offset 0) w
   cross join lateral (
     select n.* from bpm_core.workflow_node n where n.tenant_id = b.tenant_id and n.workflow_version_id = b.workflow_version_id offset 0) n
   where n.kind in ('MessageStart', 'SignalStart', 'TimerStart') and n.scope_node_id is null;
end
$$;
