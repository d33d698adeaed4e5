-- Keeps evidence, and attaches it to a task if one is named. Each piece is kept once: repeating the call changes nothing.
-- p_items: [{"object_key", "sha256", "mime", "size_bytes", "occurred_at"} | {"evidence_id"}], at most 100. The object itself lies elsewhere.
-- Returns:  one row per item: item (from 1), evidence_id.
-- Raises:   BP403; BP404 no such task; BP409 a piece was purged, or an evidence_id is not there; BP422 evidence refused: ill-formed, or its key carries a credential.
-- Writes:   evidence, task_evidence, audit_event.
create or replace function bpm.attach_evidence(p_items jsonb, p_task_id uuid default null, p_actor text default null, p_tenant_id text default '')
returns table (item integer, evidence_id uuid)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_fault text;
  v_ids   uuid[];
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  v_fault := bpm_core.evidence_fault(p_items);
  if v_fault is not null then
    perform bpm_core.fail('BP422', v_fault, null, 'Each piece is {"object_key", "sha256", "mime", "size_bytes", "occurred_at"}; the key without a credential.');
  elsif p_task_id is not null and not exists (select from bpm_core.task_instance t where t.tenant_id = p_tenant_id and t.id = p_task_id) then
    perform bpm_core.fail('BP404', format('There is no task %s.', p_task_id));
  end if;
  v_ids := bpm_core.store_evidence(p_tenant_id, p_items, v_actor);
  if array_position(v_ids, null) is not null then
    perform bpm_core.fail('BP409', format('Evidence %s was purged or is not there.', array_position(v_ids, null)),
      jsonb_build_object('item', array_position(v_ids, null)), 'Nothing new may refer to it.');
  end if;
  if p_task_id is not null then
    insert into bpm_core.task_evidence (tenant_id, task_instance_id, evidence_id, created_at)
    select distinct p_tenant_id, p_task_id, e.id, bpm_core.now() from unnest(v_ids) e(id)
    on conflict do nothing;
  end if;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'AttachEvidence', case when p_task_id is null then 'evidence' else 'task_instance' end,
    coalesce(p_task_id::text, v_ids[1]::text, ''), null, null, jsonb_build_object('evidence', to_jsonb(v_ids)));
  return query select e.n::integer, e.id from unnest(v_ids) with ordinality e(id, n);
end
$$;
