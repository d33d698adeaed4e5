-- Under the locks of timers and instances: occurrences of repeating timers with catch_up Skip that were missed are cancelled, not fired, and the next is
-- scheduled. Missed is what is found more than a minute after its time; the loop of a healthy runner is never that late.
-- Returns:  integer, timers passed over. Writes: timer, workflow_instance, history_event.
create or replace function bpm_core.pass_over_timers(p_tenant_id text, p_timers uuid[], p_now timestamptz)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_missed bpm_core.timer[];
begin
  with missed as materialized (
    select t.tenant_id, t.id
      from (select p_tenant_id as tenant_id, k.* from unnest(p_timers) k(id) offset 0) k
     cross join lateral (select t.* from bpm_core.timer t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t
     cross join lateral (select w.workflow_version_id, w.status from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     cross join lateral (select n.interrupting from bpm_core.workflow_node n
                          where n.tenant_id = t.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = t.node_id offset 0) n
     where t.status = 'Scheduled' and t.catch_up = 'Skip' and t.kind in ('Cycle', 'Cron') and not n.interrupting and w.status = 'Running'
       and t.scheduled_at < p_now - interval '1 minute'),
  passed as (
    update bpm_core.timer t
       set status = 'Cancelled'
      from missed m
     where t.tenant_id = m.tenant_id and t.id = m.id
    returning t.*),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select p.tenant_id, p.workflow_instance_id, p_now, 'TimerCancelled', p.token_id, p.node_id,
           jsonb_build_object('timer', p.id, 'scheduled_at', p.scheduled_at, 'missed', true)
      from passed p)
  select array_agg(p::bpm_core.timer) into v_missed from passed p;
  if v_missed is not null then
    perform bpm_core.bump_instances(p_tenant_id, array(select m.workflow_instance_id from unnest(v_missed) m));
    perform bpm_core.repeat_timers(v_missed, p_now);
  end if;
  return coalesce(cardinality(v_missed), 0);
end
$$;
