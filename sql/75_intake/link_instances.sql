-- Links events with the instances they started and those, and the tasks, they are attached to.
-- Writes:   event_process_instance, task_event.
create or replace function bpm_core.link_instances(p_tenant_id text, p_actions bpm_core.event_action[], p_starts bpm_core.start[], p_now timestamptz)
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  insert into bpm_core.event_process_instance (tenant_id, event_id, process_instance_id, how, at)
  select p_tenant_id, (s.cause ->> 'event')::uuid, s.process_instance_id, 'Started', p_now
    from unnest(p_starts) s
  union all
  select distinct p_tenant_id, a.event_id, i.id, 'Attached', p_now
    from unnest(p_actions) a
   cross join lateral unnest(a.instance_ids) i(id);
  insert into bpm_core.task_event (tenant_id, event_id, task_instance_id, at)
  select distinct p_tenant_id, a.event_id, i.id, p_now
    from unnest(p_actions) a
   cross join lateral unnest(a.task_ids) i(id);
end
$$;
