-- Start events whose waits and timers are not as they should be: exactly one open for each of the current version of a process, none of any other version or of
-- one that is archived; and start timers that fired without starting exactly one instance.
-- Returns:  rows (invariant, kind, id, rule, seen).
create or replace function bpm_core.unmet_starts(p_tenant_id text)
returns table (invariant text, kind text, id text, rule text, seen jsonb)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  with wanted as materialized (
    select d.code, d.published_version_id as version_id, n.node_id, n.kind, n.message_name as name
      from bpm_core.process_definition d
     cross join lateral (
       select b.workflow_version_id
         from bpm_core.process_workflow_binding b
        where b.tenant_id = d.tenant_id and b.process_version_id = d.published_version_id
        order by b.depends_on <> '{}', b.position
        limit 1) b
      join bpm_core.workflow_node n on n.tenant_id = d.tenant_id and n.workflow_version_id = b.workflow_version_id
     where d.tenant_id = p_tenant_id and d.archived_at is null and n.kind in ('MessageStart', 'SignalStart', 'TimerStart') and n.scope_node_id is null),
  subscription as materialized (
    select s.id, s.process_version_id, s.node_id, s.name, (s.kind || 'Start')::bpm_core.node_kind as kind
      from bpm_core.subscription s
     where s.tenant_id = p_tenant_id and s.process_version_id is not null and s.state = 'Open'),
  timer as materialized (
    select t.id, t.process_version_id, t.node_id, t.status, t.remaining,
           row_number() over (partition by t.process_version_id, t.node_id order by t.id desc) as age
      from bpm_core.timer t
     where t.tenant_id = p_tenant_id and t.process_version_id is not null),
  started as materialized (
    select (h.detail ->> 'timer')::uuid as timer_id, count(*) as times
      from bpm_core.history_event h
     where h.tenant_id = p_tenant_id and h.kind in ('InstanceStarted', 'InstanceSkipped') and h.detail ? 'timer'
     group by 1)
  select 'I-11', 'subscription', s.id::text, 'a start event waits that is not of the current version', jsonb_build_object('node', s.node_id, 'name', s.name)
    from subscription s
   where not exists (select from wanted w where w.version_id = s.process_version_id and w.node_id = s.node_id and w.kind = s.kind and w.name = s.name)
  union all
  select 'I-11', 'process_definition', w.code, 'a start event without its one wait', jsonb_build_object('node', w.node_id, 'waits', count(s.id))
    from wanted w
    left join subscription s on s.process_version_id = w.version_id and s.node_id = w.node_id
   where w.kind <> 'TimerStart'
   group by w.code, w.node_id
  having count(s.id) <> 1
  union all
  select 'I-10', 'timer', t.id::text, 'a start timer is due that is not of the current version', jsonb_build_object('node', t.node_id, 'status', t.status)
    from timer t
   where t.status in ('Scheduled', 'Held')
     and not exists (select from wanted w where w.version_id = t.process_version_id and w.node_id = t.node_id and w.kind = 'TimerStart')
  union all
  select 'I-10', 'process_definition', w.code, 'a start event without its one timer', jsonb_build_object('node', w.node_id, 'timers', count(t.id))
    from wanted w
    left join timer t on t.process_version_id = w.version_id and t.node_id = w.node_id and (t.status in ('Scheduled', 'Held') or (t.age = 1 and t.remaining = 0))
   where w.kind = 'TimerStart'
   group by w.code, w.node_id
  having count(t.id) <> 1
  union all
  select 'I-10', 'timer', t.id::text, 'a start timer has not started one instance, or not one that fired', jsonb_build_object('node', t.node_id, 'status', t.status, 'started', coalesce(s.times, 0))
    from timer t
    left join started s on s.timer_id = t.id
    join bpm_core.timer f on f.tenant_id = p_tenant_id and f.id = t.id and f.due_at >= (select bpm_core.history_since())
   where coalesce(s.times, 0) <> (t.status = 'Fired')::integer
$$;
