-- The version a call activity starts: the published one (latest), one by its number (version), or the one that came in the same file (deployment).
-- Returns:  no row when there is none that can be started.
create or replace function bpm_core.called_version(p_tenant_id text, p_code text, p_binding text, p_version integer, p_caller_version_id uuid)
returns table (process_version_id uuid, workflow_version_id uuid, role_version_id uuid, start_node_id text, is_several boolean)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_version integer := case when p_binding = 'version' then p_version end;
begin
  if p_binding = 'deployment' then
    -- What runs alone in its process and comes from the same file as the caller.
    select v.version into v_version
      from bpm_core.workflow_version c
     cross join lateral (select d.tenant_id, d.id from bpm_core.process_definition d where d.code = p_code and d.tenant_id is not distinct from c.tenant_id offset 0) d
     cross join lateral (select v.tenant_id, v.id, v.version, v.status from bpm_core.process_version v
                          where v.definition_id = d.id and v.tenant_id is not distinct from d.tenant_id offset 0) v
     cross join lateral (select b.tenant_id, b.workflow_version_id from bpm_core.process_workflow_binding b
                          where b.tenant_id = v.tenant_id and b.process_version_id = v.id and b.binding_key = 'main' offset 0) b
     cross join lateral (select w.checksum from bpm_core.workflow_version w where w.tenant_id = b.tenant_id and w.id = b.workflow_version_id offset 0) w
     where c.tenant_id = p_tenant_id and c.id = p_caller_version_id and w.checksum = c.checksum and v.status = 'Published'
     order by v.version desc
     limit 1;
  end if;
  if p_binding = 'latest' or v_version is not null then
    return query select s.* from bpm_core.startable_version(p_tenant_id, p_code, v_version) s;
  end if;
end
$$;
