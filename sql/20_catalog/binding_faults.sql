-- What is wrong with the bindings of a process: references, keys, conditions, order.
-- Returns:  rows code, binding_key, message.
create or replace function bpm_core.binding_faults(p_drafts bpm_core.draft_binding[])
returns table (code text, binding_key text, message text)
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  with draft as materialized (
    select b.*, cardinality(p_drafts) as bindings, b.starts && '{MessageStart,TimerStart,SignalStart}'::text[] as by_event from unnest(p_drafts) b)
  select 'DuplicateKey', b.binding_key, 'There are several bindings of this key.' from draft b group by b.binding_key having count(*) > 1
  union all
  select 'DuplicatePosition', min(b.binding_key), format('Several bindings have the position %s.', b.position) from draft b group by b.position having count(*) > 1
  union all
  select 'ReservedKey', b.binding_key, 'Keys that start with call: are those of call activities.' from draft b where b.binding_key like 'call:%'
  union all
  select 'UnknownWorkflow', b.binding_key,
         case when b.workflow_version_id is null then format('There is no workflow %L%s.', left(b.workflow, 200), ' version ' || b.version) else format('The workflow %L is archived.', left(b.workflow, 200)) end
    from draft b where b.workflow_version_id is null or b.archived
  union all
  select 'InvalidCondition', b.binding_key, format('Its start condition cannot be read: %s.', b.problem) from draft b where b.problem is not null
  union all
  select 'UnknownKey', b.binding_key, format('It depends on %L, which is no binding of this process.', left(k.key, 200))
    from draft b cross join lateral unnest(b.depends_on) k(key) where not exists (select from draft o where o.binding_key = k.key)
  union all
  select 'Cycle', b.binding_key, 'It would never start: it waits for bindings that wait for it, or for such that wait for each other.'
    from draft b where b.binding_key = any ((select bpm_core.waiting_in_circles(p_drafts))::text[])  -- once, not for each
  union all
  select 'NoStartEvent', b.binding_key, format('The workflow %L has no plain start event; beside others, or with a condition, it could not be started.', b.workflow)
    from draft b
   where b.workflow_version_id is not null and not ('StartEvent' = any (b.starts)) and (b.bindings > 1 or b.start_source is not null)
  union all
  select 'EventStart', b.binding_key, format('The workflow %L is started by events, too; such a workflow can only be the one of its process, without a condition.', b.workflow)
    from draft b
   where 'StartEvent' = any (b.starts) and b.by_event and (b.bindings > 1 or b.start_source is not null)
$$;
