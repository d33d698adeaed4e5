-- Under the locks: moves one process to another version, unless something speaks against it.
-- Returns:  from_version; changes: what was renamed, closed or opened; refusals: null when it was moved.
-- Raises:   as migration_targets. Writes: as migrate_process.
create or replace function bpm_core.migrate_locked(
  p_tenant_id text, p_process_instance_id uuid, p_to_version integer, p_mapping jsonb, p_actor text, p_reason text,
  out from_version integer, out changes jsonb, out refusals jsonb)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_target record;
  v_target uuid;
  v_items  bpm_core.migration_item[];
  v_all    bpm_core.migration_item[] := array[]::bpm_core.migration_item[];
begin
  select v.version into from_version
    from bpm_core.process_instance p
    join bpm_core.process_version v on v.tenant_id = p.tenant_id and v.id = p.process_version_id
   where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  for r_target in
    select t.*, array(select i from bpm_core.migration_items(p_tenant_id, t.instance_id, t.from_version_id, t.to_version_id, p_mapping) i) as items
      from bpm_core.migration_targets(p_tenant_id, p_process_instance_id, p_to_version, p_mapping) t
     order by t.instance_id
  loop
    v_items := r_target.items;
    v_all := v_all || v_items;
    v_target := r_target.to_process_version_id;
    refusals := coalesce(refusals, '[]') || coalesce(bpm_core.refusals_of(v_items), '[]');
  end loop;
  refusals := nullif(refusals, '[]');
  changes := (
    select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object('item', i.kind, 'id', coalesce(i.id, i.token_id), 'node', i.node_id, 'to', i.to_node_id, 'action', i.action))), '[]')
      from unnest(v_all) i where i.action <> 'keep');
  if refusals is not null or from_version = p_to_version then
    return;
  end if;
  for r_target in
    select * from bpm_core.migration_targets(p_tenant_id, p_process_instance_id, p_to_version, p_mapping) t order by t.instance_id
  loop
    v_items := array(select i from bpm_core.migration_items(p_tenant_id, r_target.instance_id, r_target.from_version_id, r_target.to_version_id, p_mapping) i);
    perform bpm_core.migrate_instance(p_tenant_id, r_target.instance_id, r_target.from_version_id, r_target.to_version_id, p_mapping, v_items, p_actor, p_reason);
  end loop;
  perform from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.id = p_process_instance_id for no key update;
  update bpm_core.process_instance p
     set process_version_id = v_target, version = p.version + 1, updated_at = bpm_core.now()
   where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  perform bpm_core.write_audit(p_tenant_id, p_actor, 'MigrateProcess', 'process_instance', p_process_instance_id::text, null, p_reason,
    jsonb_build_object('from_version', from_version, 'to_version', p_to_version, 'mapping', p_mapping));
end
$$;
