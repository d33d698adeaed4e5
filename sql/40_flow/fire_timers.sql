-- Under the instance locks: fires these timers if they are still scheduled and due. Of one token only the oldest fires in one call,
-- since it may end what the others wait for; they follow with the next. Missed ones that are to be skipped are passed over instead.
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
    select distinct on (t.token_id) t.tenant_id, t.id
      from (select p_tenant_id as tenant_id, k.* from unnest(p_timers) k(id) offset 0) k
     cross join lateral (select t.* from bpm_core.timer t where t.tenant_id = k.tenant_id and t.id = k.id offset 0) t
     where t.status = 'Scheduled' and t.due_at <= p_now
     order by t.token_id, t.due_at, t.id),
  fired as (
    update bpm_core.timer t
       set status = 'Fired'
      from first f
     where t.tenant_id = f.tenant_id and t.id = f.id
    returning t.*)
  select array_agg(f::bpm_core.timer order by f.due_at, f.id) into v_fired
    from fired f;
  if v_fired is null then
    return v_passed;
  end if;
  perform bpm_core.bump_instances(p_tenant_id, array(select f.workflow_instance_id from unnest(v_fired) f));
  perform bpm_core.repeat_timers(v_fired, p_now);
  perform bpm_core.leave_by_timers(v_fired, p_now);
  return v_passed + cardinality(v_fired);
end
$$;
