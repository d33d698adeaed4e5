-- Under the lock: pins a workflow instance to another version and takes what is open in it along, as its items say.
-- Writes:   history_event, instance_migration, workflow_instance, and what the functions named write.
create or replace function bpm_core.migrate_instance(
  p_tenant_id text, p_instance_id uuid, p_from uuid, p_to uuid, p_mapping jsonb, p_items bpm_core.migration_item[], p_actor text, p_reason text)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  -- Rows of history before this one are read by the old graph.
  with noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, actor, detail)
    values (p_tenant_id, p_instance_id, v_now, 'InstanceMigrated', p_actor,
            jsonb_strip_nulls(jsonb_build_object('from', p_from, 'to', p_to, 'mapping', p_mapping, 'reason', p_reason)))
    returning seq)
  insert into bpm_core.instance_migration (tenant_id, workflow_instance_id, seq, from_version_id, to_version_id, migrated_at)
  select p_tenant_id, p_instance_id, n.seq, p_from, p_to, v_now
    from noted n;
  update bpm_core.workflow_instance w
     set workflow_version_id = p_to, role_version_id = v.owner_role_version_id, lock_version = w.lock_version + 1
    from bpm_core.workflow_version v
   where w.tenant_id = p_tenant_id and w.id = p_instance_id and v.tenant_id = w.tenant_id and v.id = p_to;
  perform bpm_core.migrate_tokens(p_tenant_id, p_instance_id, p_to, p_mapping, p_items, p_actor);
  perform bpm_core.migrate_waits(p_tenant_id, p_items);
  perform bpm_core.migrate_tasks(p_tenant_id, p_instance_id, p_from, p_to, p_mapping);
  perform bpm_core.migrate_joins(p_tenant_id, p_instance_id, p_to);
  perform bpm_core.open_new_events(p_tenant_id, p_instance_id, p_to, p_items);
  -- What was opened is held like the rest, should the instance be suspended.
  perform bpm_core.sweep_on(p_tenant_id, p_instance_id);
  perform bpm_core.revisit_inclusive_joins(p_tenant_id, p_instance_id);
  -- In the new graph a join may have nothing left to wait for, and a condition may hold.
  perform bpm_core.revisit_inclusive_joins(p_tenant_id, p_instance_id);
  perform bpm_core.recheck_conditions(p_tenant_id, array[p_instance_id]);
end
$$;
