-- The workflow instances of a process that a migration concerns (those of call activities stay with their own version), each with the version it has
-- and the one it would get.
-- Returns:  rows instance_id, from_version_id, to_version_id (of the workflow), to_process_version_id.
-- Raises:   BP404 no such process instance or version, BP409 it has ended, BP422 the version lacks a workflow; one of the two runs several workflows; the mapping is wrong.
create or replace function bpm_core.migration_targets(p_tenant_id text, p_process_instance_id uuid, p_to_version integer, p_mapping jsonb)
returns table (instance_id uuid, from_version_id uuid, to_version_id uuid, to_process_version_id uuid)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_process record;
  v_target  bpm_core.process_version;
begin
  select p.status, p.ended_bindings is not null as is_several, d.id as definition_id, d.code into r_process
    from bpm_core.process_instance p
    join bpm_core.process_version v on v.tenant_id = p.tenant_id and v.id = p.process_version_id
    join bpm_core.process_definition d on d.tenant_id = v.tenant_id and d.id = v.definition_id
   where p.tenant_id = p_tenant_id and p.id = p_process_instance_id;
  if not found then
    perform bpm_core.fail('BP404', format('There is no process instance %s.', coalesce(p_process_instance_id::text, 'null')));
  elsif r_process.status not in ('Running', 'Suspended') then
    perform bpm_core.fail('BP409', format('Process instance %s is %s.', p_process_instance_id, r_process.status), jsonb_build_object('status', r_process.status));
  end if;
  select v.* into v_target
    from bpm_core.process_version v
   where v.definition_id = r_process.definition_id and v.version = p_to_version and v.tenant_id = p_tenant_id;
  if v_target.id is null then
    perform bpm_core.fail('BP404', format('Process %s has no version %s.', r_process.code, coalesce(p_to_version::text, 'null')), null, 'See the view bpm.definition.');
  elsif r_process.is_several or (
        select bool_or(b.binding_key <> 'main' or b.start_source is not null)
          from bpm_core.process_workflow_binding b where b.tenant_id = p_tenant_id and b.process_version_id = v_target.id) then
    perform bpm_core.fail('BP422', format('Process %s runs several workflows%s; instances of such are not moved to another version.', r_process.code,
                                          case when r_process.is_several then '' else format(' in version %s', p_to_version) end), null,
      'Let it end, or cancel it and start the new version.');
  end if;
  for instance_id, from_version_id, to_version_id, to_process_version_id in
    select w.id, w.workflow_version_id, b.workflow_version_id, v_target.id
      from bpm_core.workflow_instance w
      left join bpm_core.process_workflow_binding b
        on b.tenant_id = w.tenant_id and b.process_version_id = v_target.id and b.binding_key = w.binding_key
     where w.tenant_id = p_tenant_id and w.process_instance_id = p_process_instance_id and w.parent_token_id is null
       and w.status in ('Running', 'Suspended')
  loop
    if to_version_id is null then
      perform bpm_core.fail('BP422', format('Version %s of process %s lacks a workflow that is running.', p_to_version, r_process.code));
    end if;
    perform bpm_core.check_mapping(p_tenant_id, from_version_id, to_version_id, p_mapping);
    return next;
  end loop;
end
$$;
