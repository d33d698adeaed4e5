-- Under the instance locks: cancels instances whose callers no longer want them. What they have called themselves hears it by its own inbox row, so a deep
-- tree goes level by level. Writes: as terminate_instances.
create or replace function bpm_core.cancel_called(p_tenant_id text, p_rows bpm_core.inbox[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  perform bpm_core.terminate_instances(p_tenant_id, array(
    select w.id
      from unnest(p_rows) r
     cross join lateral (select w.id, w.status from bpm_core.workflow_instance w where w.tenant_id = p_tenant_id and w.id = r.target_id offset 0) w
     where w.status in ('Running', 'Suspended')), 'Cancelled', '{"caller": true}');
end
$$;
