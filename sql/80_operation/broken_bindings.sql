-- What does not fit between processes of several workflows, their bindings and the workflow instances these have.
-- Returns:  rows (invariant, kind, id, rule, seen).
create or replace function bpm_core.broken_bindings(p_tenant_id text)
returns table (invariant text, kind text, id text, rule text, seen jsonb)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
  with several as materialized (
    select p.* from bpm_core.process_instance p where p.tenant_id = p_tenant_id and p.ended_bindings is not null),
  bound as materialized (
    select p.id as process_id, p.status as process_status, p.ended_bindings, b.binding_key, b.depends_on, b.position,
           w.id as workflow_id, w.status, w.ends_process, b.binding_key = any (p.ended_bindings collate "C") as has_ended,
           -- An end that the process has not heard of yet, but will, or would if somebody mended why it cannot.
           exists (select from bpm_core.inbox i where i.tenant_id = p.tenant_id and i.target_id = p.id and i.payload ->> 'workflow' = w.id::text)
             or exists (select from bpm_core.incident i
                         where i.tenant_id = p.tenant_id and i.workflow_instance_id = w.id and i.state = 'Open' and i.detail ->> 'inbox' = 'WorkflowEnded') as is_told
      from several p
      join bpm_core.process_workflow_binding b on b.tenant_id = p.tenant_id and b.process_version_id = p.process_version_id
      left join bpm_core.workflow_instance w
        on w.tenant_id = p.tenant_id and w.process_instance_id = p.id and w.binding_key = b.binding_key and w.trigger_key = ''),
  -- One pass over history for all processes: check_invariants allows no nested loops, so one pass per process would be a whole one each.
  told as materialized (
    select w.process_instance_id as process_id, count(*) filter (where h.kind = 'ProcessEnded') as times,
           array_agg(h.to_state) filter (where h.kind = 'ProcessEnded') as states,
           bpm_core.jsonb_merge(h.detail -> 'process_variables' order by h.seq) filter (where h.detail ? 'process_variables') as patch
      from several p
      join bpm_core.workflow_instance w on w.tenant_id = p.tenant_id and w.process_instance_id = p.id
      join bpm_core.history_event h on h.tenant_id = w.tenant_id and h.workflow_instance_id = w.id
     where h.tenant_id = p_tenant_id and (h.kind = 'ProcessEnded' or h.detail ? 'process_variables')
     group by w.process_instance_id)
  select 'I-11', 'workflow_instance', b.workflow_id::text, x.rule,
         jsonb_build_object('process', b.process_status, 'binding', b.binding_key, 'status', b.status, 'ended_bindings', b.ended_bindings)
    from bound b
   cross join lateral (values
     ('it has ended, and its process never hears of it',
      b.process_status in ('Running', 'Suspended') and b.status in ('Completed', 'Skipped', 'Failed', 'Cancelled') and not b.has_ended and not b.is_told),
     ('its process believes that it has ended', b.has_ended and b.status is distinct from 'Completed' and b.status is distinct from 'Skipped'),
     ('it began before what it depends on had ended', b.workflow_id is not null and not b.depends_on <@ (b.ended_bindings collate "C")),
     ('it goes on although its process has ended',
      b.process_status in ('Completed', 'Failed', 'Cancelled') and b.status in ('Running', 'Suspended')
        and not exists (select from bpm_core.inbox i where i.tenant_id = p_tenant_id and i.target_id = b.workflow_id and i.kind = 'Cancel')),
     ('one of several that would end its process alone', b.ends_process)) x(rule, broken)
   where x.broken
  union all
  select 'I-11', 'process_instance', b.process_id::text, x.rule,
         jsonb_build_object('process', b.process_status, 'binding', b.binding_key, 'status', b.status, 'ended_bindings', b.ended_bindings)
    from bound b
   cross join lateral (values
     ('a workflow whose turn has come has not begun',
      b.process_status in ('Running', 'Suspended') and b.workflow_id is null and b.depends_on <@ (b.ended_bindings collate "C")),
     ('Completed without all its workflows', b.process_status = 'Completed' and not b.has_ended)) x(rule, broken)
   where x.broken
  union all
  select 'I-11', 'process_instance', p.id::text, 'one of several workflows that does not know it, or the other way round', jsonb_build_object('ended_bindings', p.ended_bindings)
    from bpm_core.process_instance p
    join (select b.process_version_id, bool_or(b.binding_key <> 'main' or b.start_source is not null) as is_several
            from bpm_core.process_workflow_binding b where b.tenant_id = p_tenant_id group by b.process_version_id) b on b.process_version_id = p.process_version_id
   where p.tenant_id = p_tenant_id and (p.ended_bindings is not null) <> b.is_several
  union all
  select 'I-11', 'process_instance', p.id::text, 'running with nothing left to do', jsonb_build_object('status', p.status, 'ended_bindings', p.ended_bindings)
    from several p
   where p.status in ('Running', 'Suspended')
     and not exists (select from bound b where b.process_id = p.id and (b.status in ('Running', 'Suspended') or b.is_told))
  union all
  select 'I-11', 'process_instance', p.id::text, 'suspended, or not, unlike its workflows', jsonb_build_object('process', p.status, 'workflow', w.id, 'status', w.status)
    from several p
    join bpm_core.workflow_instance w on w.tenant_id = p.tenant_id and w.process_instance_id = p.id
   where p.status in ('Running', 'Suspended') and w.status in ('Running', 'Suspended') and p.status::text <> w.status::text
  union all
  select 'I-11', 'inbox', i.id::text, 'set aside, but its process is not suspended', jsonb_build_object('process', p.id, 'status', p.status)
    from several p
    join bpm_core.inbox i on i.tenant_id = p.tenant_id and i.target_id = p.id
   where i.available_at = 'infinity' and p.status <> 'Suspended'
  union all
  select 'I-13', 'process_instance', p.id::text, 'a change without its row in history', jsonb_build_object('status', p.status, 'told', coalesce(t.times, 0))
    from several p
    left join told t on t.process_id = p.id
   where p.created_at >= (select bpm_core.history_since())
     and (coalesce(t.times, 0) <> (p.status in ('Completed', 'Failed', 'Cancelled'))::integer or not p.status::text = all (coalesce(t.states, '{}')))
  union all
  select 'I-14', 'process_instance', p.id::text, 'its variables are not what the patches make', jsonb_build_object('patches', t.patch)
    from several p
    left join told t on t.process_id = p.id
   where p.created_at >= (select bpm_core.history_since()) and p.variables <> p.variables || coalesce(t.patch, '{}')
  union all
  -- What a workflow passed on is what it had when it ended.
  select 'I-14', 'workflow_instance', b.workflow_id::text, 'it passed on other variables than it had', jsonb_build_object('binding', b.binding_key)
    from bound b
    join bpm_core.workflow_instance w on w.tenant_id = p_tenant_id and w.id = b.workflow_id
    left join bpm_core.history_event h on h.tenant_id = w.tenant_id and h.workflow_instance_id = w.id and h.kind = 'VariablesPassed'
   where b.has_ended and b.status = 'Completed' and w.created_at >= (select bpm_core.history_since())
     and coalesce(h.detail -> 'process_variables', '{}') <> w.variables
  union all
  select 'I-27', 'process_instance', p.id::text, 'orphan', jsonb_build_object('refers_to', 'binding', 'which', e.key)
    from several p
   cross join lateral unnest(p.ended_bindings) e(key)
   where not exists (select from bound b where b.process_id = p.id and b.binding_key = e.key collate "C");
end
$$;
