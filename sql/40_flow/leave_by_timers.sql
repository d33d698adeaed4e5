-- What fired timers do: a catch event lets its token go on; one behind an event-based gateway closes the other branches first; an interrupting
-- boundary closes its host and takes the token; one that does not interrupt sends a new token and leaves the host alone; the start event of an event
-- sub-process begins that.
-- Writes:   history_event, token, workflow_instance, what close_waits and the paths ahead write.
create or replace function bpm_core.leave_by_timers(p_fired bpm_core.timer[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_hosts   bpm_core.moving[];
  v_leaving bpm_core.moving[];
  v_beside  bpm_core.moving[];
  v_begin   bpm_core.moving[];
  v_ending  bpm_core.moving[];
begin
  with fired as materialized (
    select row(f.tenant_id, f.workflow_instance_id, w.workflow_version_id, t.scope_id, f.token_id, f.node_id, null, null)::bpm_core.moving as token,
           n.interrupting, t.node_id <> f.node_id as elsewhere, n.element = 'startEvent' as is_start, f.id, f.scheduled_at
      from unnest(p_fired) f
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = f.tenant_id and w.id = f.workflow_instance_id offset 0) w
     cross join lateral (select n.interrupting, n.element from bpm_core.workflow_node n
                          where n.tenant_id = f.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = f.node_id offset 0) n
     cross join lateral (select t.scope_id, t.node_id, t.state, t.visit from bpm_core.token t
                          where t.tenant_id = f.tenant_id and t.id = f.token_id offset 0) t
     where t.state in ('Waiting', 'Failed') and t.visit = f.visit),
  noted as (
    insert into bpm_core.history_event (tenant_id, workflow_instance_id, at, kind, token_id, node_id, detail)
    select (f.token).tenant_id, (f.token).instance_id, p_now, 'TimerFired', (f.token).token_id, (f.token).node_id,
           jsonb_build_object('timer', f.id, 'scheduled_at', f.scheduled_at, 'interrupting', f.interrupting and not f.is_start)
      from fired f)
  select array_agg(f.token) filter (where f.elsewhere and f.interrupting and not f.is_start),
         array_agg(f.token) filter (where f.interrupting and not f.is_start), array_agg(f.token) filter (where not f.interrupting and not f.is_start),
         array_agg(f.token) filter (where f.is_start and not f.interrupting), array_agg(f.token) filter (where f.is_start and f.interrupting)
    into v_hosts, v_leaving, v_beside, v_begin, v_ending
    from fired f;
  perform bpm_core.close_waits(v_hosts);
  v_ending := bpm_core.start_event_subs(v_ending, true);
  -- What was closed may have held others of them.
  v_leaving := bpm_core.drop_dead(v_leaving) || v_ending || bpm_core.bear_tokens(bpm_core.drop_dead(v_beside))
    || bpm_core.start_event_subs(bpm_core.drop_dead(v_begin), false);
  perform bpm_core.advance_isolated(v_leaving);
end
$$;
