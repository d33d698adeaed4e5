-- What events that reached their waits do: a catch event lets its token go on, a receive task with its boundary events closed; one behind an
-- event-based gateway closes the other branches first; an interrupting boundary closes its host and takes the token; one that does not
-- interrupt sends a new token and leaves the host alone; the start event of an event sub-process begins that.
-- p_met: the waits, as they were consumed. Returns: moving[], leaving. Writes: token, scope, workflow_instance, history_event, what close_waits writes.
create or replace function bpm_core.leave_waits(p_met bpm_core.subscription[])
returns bpm_core.moving[]
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
  if coalesce(cardinality(p_met), 0) = 0 then
    return '{}'::bpm_core.moving[];
  end if;
  with met as materialized (
    select row(m.tenant_id, m.workflow_instance_id, w.workflow_version_id, t.scope_id, m.token_id, m.node_id, null, null)::bpm_core.moving as token,
           n.interrupting, t.node_id <> m.node_id or n.element = 'receiveTask' as more_waits, n.element = 'startEvent' as is_start
      from unnest(p_met) m
     cross join lateral (select w.workflow_version_id from bpm_core.workflow_instance w
                          where w.tenant_id = m.tenant_id and w.id = m.workflow_instance_id offset 0) w
     cross join lateral (select n.interrupting, n.element from bpm_core.workflow_node n
                          where n.tenant_id = m.tenant_id and n.workflow_version_id = w.workflow_version_id and n.node_id = m.node_id offset 0) n
     cross join lateral (select t.scope_id, t.node_id from bpm_core.token t where t.tenant_id = m.tenant_id and t.id = m.token_id offset 0) t)
  select array_agg(m.token) filter (where m.interrupting and m.more_waits and not m.is_start),
         array_agg(m.token) filter (where m.interrupting and not m.is_start), array_agg(m.token) filter (where not m.interrupting and not m.is_start),
         array_agg(m.token) filter (where m.is_start and not m.interrupting), array_agg(m.token) filter (where m.is_start and m.interrupting)
    into v_hosts, v_leaving, v_beside, v_begin, v_ending
    from met m;
  perform bpm_core.close_waits(v_hosts);
  v_ending := bpm_core.start_event_subs(v_ending, true);
  -- What was closed may have held others of them.
  return bpm_core.drop_dead(v_leaving) || v_ending || bpm_core.bear_tokens(bpm_core.drop_dead(v_beside))
    || bpm_core.start_event_subs(bpm_core.drop_dead(v_begin), false);
end
$$;
