-- Everything open in an instance with what becomes of it in another version; a code says why it cannot be. What the plan shows is what is done.
-- Returns:  migration_item rows.
create or replace function bpm_core.migration_items(p_tenant_id text, p_instance_id uuid, p_from uuid, p_to uuid, p_mapping jsonb)
returns setof bpm_core.migration_item
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return query
  select i.kind, i.id, i.token_id, i.node_id, i.to_node_id, i.action, i.code, coalesce(m.message, i.message)
    from (select * from bpm_core.migration_tokens(p_tenant_id, p_instance_id, p_from, p_to, p_mapping)
          union all
          select * from bpm_core.migration_waits(p_tenant_id, p_instance_id, p_from, p_to, p_mapping)
          union all
          select * from bpm_core.migration_events(p_tenant_id, p_instance_id, p_from, p_to, p_mapping)
          union all
          select * from bpm_core.migration_joins(p_tenant_id, p_instance_id, p_from, p_to, p_mapping)
          union all
          select * from bpm_core.migration_records(p_tenant_id, p_instance_id, p_from, p_to, p_mapping)) i
    left join (values
      ('NodeMissing', 'the new version has no such node, and the mapping names none'),
      ('KindDiffers', 'it is another kind of element there'),
      ('HandlerMissing', 'this step may still be undone, and it or its handler is missing there'),
      ('ScopeDiffers', 'it lies in another sub-process there'),
      ('HostDiffers', 'it is attached to another activity there'),
      ('BodyDiffers', 'its multi-instance or loop is defined otherwise there'),
      ('FlowMissing', 'the flow by which it is to reach the join is missing there'),
      ('EventsDiffer', 'other events follow the gateway there'),
      ('NameDiffers', 'it waits for another message or signal there; give up the old event in the mapping (null) to open the new one'),
      ('KeyDiffers', 'it correlates by another key there; give up the old event in the mapping (null) to open the new one'),
      ('TokenFailed', 'an event would be new at a node whose token has failed; resolve the incident first'),
      ('JoinRenamed', 'tokens have reached this join, so it keeps its id'),
      ('FlowsDiffer', 'tokens have reached this join, and other flows lead to it there')) m(code, message) on m.code = i.code;
end
$$;
