-- Under the instance locks: fires these timers if they are still scheduled and due. Of one token only the oldest fires in one call,
-- since it may end what the others wait for; they follow with the next. Those of suspended instances are held; missed ones that are to be skipped are passed
-- over.
-- Returns:  integer, timers dealt with. Writes: timer, workflow_instance, token, history_event, and what follows on the paths.
create or replace function bpm_core.fire_timers(p_tenant_id text, p_timers uuid[], p_now timestamptz)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_done   integer;
  v_fired  bpm_core.timer[];
  v_skips  boolean;
  v_passed integer := 0;
begin
  select bool_or(t.catch_up = 'Skip') into v_skips
     from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_timers) k(id) order by k.id offset 0) k
    cross join lateral (select t.catch_up from bpm_core.timer t where t.tenant_id = k.tenant_id and t.id = k.id for no key update) t;
  if v_skips then
    v_passed := bpm_core.pass_over_timers(p_tenant_id, p_timers, p_now);
  end if;
  with first as materialized (
    select distinct on (t.token_id) t.tenant_id, t.id, w.status = 'Suspended' as suspended
      from (select p_tenant_id as tenant_id, k.* from unnest(p_timers) k(id) offset 0) k
     cross join lateral (select t.* from bpm_core.timer t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t
     cross join lateral (select w.status from bpm_core.workflow_instance w
                          where w.tenant_id = t.tenant_id and w.id = t.workflow_instance_id offset 0) w
     where t.status = 'Scheduled' and t.due_at <= p_now
     order by t.token_id, t.due_at, t.id),
  turned as (
    update bpm_core.timer t
       set status = case when f.suspended then 'Held' else 'Fired' end::bpm_core.timer_status
      from first f
     where t.tenant_id = f.tenant_id and t.id = f.id
    returning t as timer, f.suspended),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, from_state, to_state, detail)
    select p_tenant_id, (f.timer).workflow_instance_id, p_now, 'TimerHeld', (f.timer).token_id, (f.timer).node_id, 'Scheduled', 'Held',
           jsonb_build_object('timer', (f.timer).id)
      from turned f
     where f.suspended)
  select count(*)::integer, array_agg(f.timer::bpm_core.timer order by (f.timer).due_at, (f.timer).id) filter (where not f.suspended)
    into v_done, v_fired
    from turned f;
  if v_fired is null then
    return v_passed + v_done;
  end if;
  perform bpm_core.bump_instances(p_tenant_id, array(select f.workflow_instance_id from unnest(v_fired) f));
  perform bpm_core.repeat_timers(v_fired, p_now);
  perform bpm_core.leave_by_timers(v_fired, p_now);
  return v_passed + v_done;
end
$$;
