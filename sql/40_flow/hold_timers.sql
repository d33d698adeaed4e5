-- Holds timers of an instance (p_hold), or schedules held ones again: what fell due meanwhile is due now. The instance is locked.
-- Returns:  integer, how many; at most p_limit. Writes: timer, history_event.
create or replace function bpm_core.hold_timers(p_tenant_id text, p_instance_id uuid, p_hold boolean, p_limit integer)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_from  constant bpm_core.timer_status := case when p_hold then 'Scheduled' else 'Held' end::bpm_core.timer_status;
  v_to    constant bpm_core.timer_status := case when p_hold then 'Held' else 'Scheduled' end::bpm_core.timer_status;
  v_count integer;
begin
  with found as materialized (
    select m.tenant_id, m.id
      from (select t.tenant_id, t.id, t.state from bpm_core.token t where t.workflow_instance_id = p_instance_id offset 0) t
     cross join lateral (select m.tenant_id, m.id, m.status from bpm_core.timer m where m.token_id = t.id offset 0) m
     where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Waiting', 'Failed') and m.tenant_id = t.tenant_id and m.status = v_from
     limit p_limit),
  turned as (
    update bpm_core.timer m
       set status = v_to, due_at = case when p_hold then m.due_at else greatest(m.due_at, bpm_core.now()) end
      from found f
     where m.tenant_id = f.tenant_id and m.id = f.id
    returning m.id, m.token_id, m.node_id)
  insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
  select p_tenant_id, p_instance_id, bpm_core.now(), case when p_hold then 'TimerHeld' else 'TimerReleased' end::bpm_core.history_kind,
         t.token_id, t.node_id, v_from::text, v_to::text, jsonb_build_object('timer', t.id)
    from turned t;
  get diagnostics v_count = row_count;
  return v_count;
end
$$;
