-- The workflows of a process, for get_process: those that have begun, in order of position, of several those too that have not; then those called.
-- Returns:  jsonb array of at most p_limit objects.
create or replace function bpm_core.list_workflows(p_tenant_id text, p_process_instance_id uuid, p_limit integer)
returns jsonb
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
begin
  return (
    select coalesce(jsonb_agg(l.item order by l.called, l.position, l.id), '[]')
      from (
        select x.called, x.position, x.id,
               jsonb_build_object('binding_key', x.binding_key, 'workflow_code', d.code, 'workflow_version', v.version, 'status', x.status,
                                  'depends_on', x.depends_on, 'start_condition', x.start_condition) || x.item as item
          from (select p.tenant_id, p.process_version_id, p.ended_bindings from bpm_core.process_instance p
                 where p.tenant_id = p_tenant_id and p.id = p_process_instance_id offset 0) p
         cross join lateral (
           select w.id, w.parent_token_id is not null as called, b.position, w.binding_key, w.workflow_version_id, w.status::text as status, b.depends_on,
                  b.start_source as start_condition,
                  jsonb_build_object('workflow_instance_id', w.id, 'parent_token_id', w.parent_token_id, 'depth', w.depth, 'live_tokens', w.live_tokens,
                                     'created_at', w.created_at, 'ended_at', w.ended_at) as item
             from (select w.* from bpm_core.workflow_instance w where w.process_instance_id = p_process_instance_id offset 0) w
             left join lateral (
               select b.position, b.depends_on, b.start_source from bpm_core.process_workflow_binding b
                where b.tenant_id = p_tenant_id and b.process_version_id = p.process_version_id and b.binding_key = w.binding_key offset 0) b on true
            where w.tenant_id = p_tenant_id
           union all
           select null, false, b.position, b.binding_key, b.workflow_version_id, null, b.depends_on, b.start_source, '{}'::jsonb
             from (select b.* from bpm_core.process_workflow_binding b
                    where b.tenant_id = p_tenant_id and b.process_version_id = p.process_version_id offset 0) b
            where p.ended_bindings is not null
              and not exists (
                select from (select w.tenant_id from bpm_core.workflow_instance w
                              where w.process_instance_id = p_process_instance_id and w.binding_key = b.binding_key and w.trigger_key = '' offset 0) w
                 where w.tenant_id = p_tenant_id)) x
         cross join lateral (select v.version, v.definition_id from bpm_core.workflow_version v
                              where v.tenant_id = p_tenant_id and v.id = x.workflow_version_id offset 0) v
         cross join lateral (select d.code from bpm_core.workflow_definition d where d.tenant_id = p_tenant_id and d.id = v.definition_id offset 0) d
         order by x.called, x.position, x.id
         limit p_limit) l);
end
$$;
