-- When should a worker of these types ask again?
-- Returns:  timestamptz: now when something is ready, else when the next task becomes ready; null when none is planned.
-- Raises:   BP403, BP422 types.
create or replace function bpm.next_due(p_types text[], p_tenant_id text default '')
returns timestamptz
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_due timestamptz;
begin
  perform bpm_core.enter_call(p_tenant_id, 'reader');
  perform bpm_core.check_claim('next_due', p_types, 1, null, null);
  v_due := bpm_core.next_task_due(p_tenant_id, p_types, '-infinity');
  -- greatest() passes over nulls: without the question an empty queue would be due now.
  return case when v_due is not null then greatest(v_due, bpm_core.now()) end;
end
$$;
