-- Sets, changes or ends one quota; task_type empty: of the whole tenant. Free slots beyond a bound that became smaller go; those in hand stay until their
-- tasks end, and are not filled again.
-- Returns:  integer, the bound there was; null: none.
-- Raises:   BP422 a bound out of 1..10000.
-- Writes:   task_quota, quota_slot, audit_event (of p_audited). Locks: an advisory lock on the quota, task_quota; then quota_slot, free ones, for which it waits while they are being filled.
create or replace function bpm_core.turn_quota(p_tenant_id text, p_task_type text, p_bound integer, p_reason text, p_actor text, p_audited text)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_before integer;
begin
  if p_bound not between 1 and 10000 then
    perform bpm_core.fail('BP422', 'A quota is 1 to 10000; null ends it.', jsonb_build_object('bound', p_bound),
      'To let nothing run, suspend the tenant or the process.');
  end if;
  -- Without a row there is nothing to lock: two calls at once would both find none.
  perform pg_advisory_xact_lock(hashtextextended(p_tenant_id || ' ' || p_task_type, 7));
  select q.bound into v_before from bpm_core.task_quota q where q.tenant_id = p_tenant_id and q.task_type = p_task_type;
  if v_before is not distinct from p_bound then
    return v_before;
  end if;
  if p_bound is null then
    delete from bpm_core.task_quota q where q.tenant_id = p_tenant_id and q.task_type = p_task_type;
  else
    insert into bpm_core.task_quota as q (tenant_id, task_type, bound, set_by, set_at)
    values (p_tenant_id, p_task_type, p_bound, p_actor, bpm_core.now())
    on conflict (tenant_id, task_type) do update set bound = excluded.bound, set_by = excluded.set_by, set_at = excluded.set_at;
    insert into bpm_core.quota_slot (tenant_id, task_type, slot)
    select p_tenant_id, p_task_type, n from generate_series(1, p_bound) n
    on conflict do nothing;
  end if;
  delete from bpm_core.quota_slot s
   where s.tenant_id = p_tenant_id and s.task_type = p_task_type and s.slot > coalesce(p_bound, 0) and s.task_instance_id is null;
  perform bpm_core.write_audit(p_audited, p_actor, case p_task_type when '' then 'SetTenantQuota' else 'SetTaskQuota' end,
    case p_task_type when '' then 'tenant' else 'task_type' end, case p_task_type when '' then p_tenant_id else p_task_type end, null, p_reason,
    jsonb_build_object('from', v_before, 'to', p_bound));
  return v_before;
end
$$;
