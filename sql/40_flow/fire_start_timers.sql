-- Under the locks of their definitions: fires these start timers if they are still scheduled and due. Each starts one instance and is scheduled
-- anew if it repeats; missed occurrences of one with catch_up Skip start nothing.
-- Returns:  integer, timers dealt with. Writes: timer, and what insert_starts and the paths ahead write.
create or replace function bpm_core.fire_start_timers(p_tenant_id text, p_timers uuid[], p_now timestamptz)
returns integer
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_due    bpm_core.timer[];
  v_starts bpm_core.start[];
begin
  perform 1
     from (select distinct p_tenant_id as tenant_id, k.id from unnest(p_timers) k(id) order by k.id offset 0) k
    cross join lateral (select from bpm_core.timer t where t.tenant_id = k.tenant_id and t.id = k.id for no key update) t;
  with due as materialized (
    select t.tenant_id, t.id, t.catch_up = 'Skip' and t.kind in ('Cycle', 'Cron') and t.scheduled_at < p_now - interval '1 minute' as missed,
           n.scheduled_at as next_at, n.remaining
      from (select p_tenant_id as tenant_id, k.* from unnest(p_timers) k(id) offset 0) k
     cross join lateral (select t.* from bpm_core.timer t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t
     cross join lateral bpm_core.next_occurrence(t, p_now) n
     where t.status = 'Scheduled' and t.due_at <= p_now),
  fired as (
    update bpm_core.timer t
       set status = case when d.missed then 'Cancelled' else 'Fired' end::bpm_core.timer_status, remaining = case when d.next_at is null then 0 else t.remaining end
      from due d
     where t.tenant_id = d.tenant_id and t.id = d.id
    returning t.*, d.next_at, d.remaining as next_remaining),
  again as (
    insert into bpm_core.timer (tenant_id, id, process_version_id, node_id, kind, rule, time_zone, anchor_at, scheduled_at, due_at, remaining, catch_up)
    select f.tenant_id, bpm_core.new_id(), f.process_version_id, f.node_id, f.kind, f.rule, f.time_zone, f.anchor_at, f.next_at,
           greatest(f.next_at, bpm_core.now()), f.next_remaining, f.catch_up
      from fired f
     where f.next_at is not null)
  select array_agg(row(f.tenant_id, f.id, f.workflow_instance_id, f.process_version_id, f.token_id, f.visit, f.node_id, f.kind, f.rule, f.time_zone, f.anchor_at,
                       f.scheduled_at, f.due_at, f.remaining, f.catch_up, f.status)::bpm_core.timer order by f.due_at, f.id)
    into v_due
    from fired f;
  v_starts := array(
    select bpm_core.triggered_start(t.tenant_id, t.process_version_id, t.node_id, '{}', null, jsonb_build_object('timer', t.id, 'scheduled_at', t.scheduled_at))
      from unnest(v_due) t
     where t.status = 'Fired');
  if cardinality(v_starts) > 0 then
    perform bpm_core.begin_starts(p_tenant_id, v_starts, bpm_core.caller(), p_now);
  end if;
  return coalesce(cardinality(v_due), 0);
end
$$;
