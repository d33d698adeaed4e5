-- What is held without its instance being suspended, or not held although it is, while no sweep is under way that would mend it.
-- Returns:  rows (kind, id, status: of the instance, state).
create or replace function bpm_core.held_astray(p_tenant_id text)
returns table (kind text, id uuid, status bpm_core.workflow_status, state text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select x.kind, x.id, w.status, x.state
    from (
      select 'task' as kind, t.id, t.workflow_instance_id, t.state::text as state, t.state = 'Held' as held
        from bpm_core.task_instance t
       where t.tenant_id = p_tenant_id and t.state in ('Ready', 'Held')
      union all
      select 'timer', t.id, t.workflow_instance_id, t.status::text, t.status = 'Held'
        from bpm_core.timer t
       where t.tenant_id = p_tenant_id and t.status in ('Scheduled', 'Held')
      union all
      select 'token', t.id, t.workflow_instance_id, 'set aside', true
        from bpm_core.token t
       where t.tenant_id = p_tenant_id and t.state = 'Ready' and t.ready_at = 'infinity'
      union all
      select 'inbox', i.id, i.target_id, 'set aside', true
        from bpm_core.inbox i
       where i.tenant_id = p_tenant_id and i.available_at = 'infinity') x
    join bpm_core.workflow_instance w on w.tenant_id = p_tenant_id and w.id = x.workflow_instance_id
   where x.held <> (w.status = 'Suspended') and (w.status in ('Running', 'Suspended') or x.kind = 'inbox')
     and not exists (select from bpm_core.inbox i where i.tenant_id = w.tenant_id and i.target_id = w.id and i.kind = 'Sweep')
$$;
