-- What moving a process instance to another version of its process would do with everything open in it, and all that speaks against it. Writes nothing.
-- p_mapping: {"node": "node of the new version"} where ids differ; null gives the waits of a boundary event up.
-- Returns:  one row per token, wait, timer, new event, join and step to undo: item (token, wait, timer, event, join, compensation), id, node_id, to_node_id, action (keep, rename,
--           close, open), refusal (null: none; else why not, as a code), message.
-- Raises:   BP403, BP404 no such instance or version, BP409 it has ended, BP422 the mapping is wrong or the version a draft.
create or replace function bpm.plan_migration(p_process_instance_id uuid, p_to_version integer, p_mapping jsonb default '{}', p_tenant_id text default '')
returns table (item text, id uuid, node_id text, to_node_id text, action text, refusal text, message text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  return query
  select i.kind, coalesce(i.id, i.token_id), i.node_id, i.to_node_id, i.action, i.code, i.message
    from bpm_core.migration_targets(p_tenant_id, p_process_instance_id, p_to_version, p_mapping) t
   cross join lateral bpm_core.migration_items(p_tenant_id, t.instance_id, t.from_version_id, t.to_version_id, p_mapping) i
   order by i.code is null, i.kind, i.node_id, i.to_node_id, i.id;
end
$$;
