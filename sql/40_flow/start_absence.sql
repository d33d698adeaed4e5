-- Why a start finds no version of a process. Asked only when it has found none.
-- Returns:  text.
create or replace function bpm_core.start_absence(p_tenant_id text, p_code text, p_version integer)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_process bpm_core.process_definition;
  v_status  bpm_core.version_status;
begin
  select d.* into r_process from bpm_core.process_definition d where d.code = p_code and d.tenant_id = p_tenant_id;
  select v.status into v_status
    from bpm_core.process_version v
   where v.definition_id = r_process.id and v.version = p_version and v.tenant_id = r_process.tenant_id;
  return case
    when r_process.archived_at is not null then format('Process %L is archived.', p_code)
    when v_status = 'Deprecated' then format('Version %s of process %L is deprecated.', p_version, p_code)
    when r_process.id is not null and p_version is null then format('Process %L has no current version.', p_code)
    else format('There is no process %L%s that can be started.', p_code, coalesce(' version ' || p_version, '')) end;
end
$$;
