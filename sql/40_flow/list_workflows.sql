-- The workflows of a process, for get_process: those that have begun, in order, then those of several that have not.
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
    select coalesce(jsonb_agg(l.item order by l.n), '[]')
      from (
        select row_number() over (order by x.called, x.position, x.id) as n, x.item
          from (
            select w.workflow_instance_id as id, w.parent_token_id is not null as called, w.position,
                   to_jsonb(w) - '{tenant_id,process_instance_id,variables,position}'::text[] as item
              from bpm.workflow w
             where w.tenant_id = p_tenant_id and w.process_instance_id = p_process_instance_id
            union all
            select null, false, b.position,
                   jsonb_build_object('binding_key', b.binding_key, 'workflow_code', d.code, 'workflow_version', v.version, 'depends_on', b.depends_on,
                                      'start_condition', b.start_source, 'status', null)
              from bpm_core.process_instance p
              join bpm_core.process_workflow_binding b on b.tenant_id = p.tenant_id and b.process_version_id = p.process_version_id
              join bpm_core.workflow_version v on v.tenant_id = b.tenant_id and v.id = b.workflow_version_id
              join bpm_core.workflow_definition d on d.tenant_id = v.tenant_id and d.id = v.definition_id
             where p.tenant_id = p_tenant_id and p.id = p_process_instance_id and p.ended_bindings is not null
               and not exists (select from bpm_core.workflow_instance w
                                where w.tenant_id = p.tenant_id and w.process_instance_id = p.id and w.binding_key = b.binding_key and w.trigger_key = '')) x
         order by n
         limit p_limit) l);
end
$$;
