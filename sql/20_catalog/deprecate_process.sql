-- Takes a version of a process out of use: it is started no more, neither by its number nor as the current one, nor called. What runs it goes on. For good:
-- publishing the same content again makes a new version. Without its current version a process has none, until one is published.
-- Returns:  one row: code, version, outcome Done (also when it was deprecated before).
-- Raises:   BP400 no version. BP403. BP404 no such process or version. BP422 reason too long.
-- Writes:   process_version, process_definition, what publish_starts writes, audit_event.
-- Locks:    the process_definition row.
create or replace function bpm.deprecate_process(
  p_code text, p_version integer, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (code text, version integer, outcome bpm.outcome)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor      text;
  v_id         uuid;
  v_definition bpm_core.process_definition;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  if p_version is null then
    perform bpm_core.fail('BP400', 'deprecate_process needs the number of a version.', null, 'See the view bpm.definition.');
  end if;
  perform 1 from bpm_core.process_definition d where d.tenant_id = p_tenant_id and d.code = p_code for no key update;
  v_id := bpm_core.find_version(p_tenant_id, p_code, p_version);
  select d.* into v_definition from bpm_core.process_definition d where d.tenant_id = p_tenant_id and d.code = p_code;
  update bpm_core.process_version v set status = 'Deprecated' where v.tenant_id = p_tenant_id and v.id = v_id and v.status = 'Published';
  if found then
    if v_definition.published_version_id = v_id then
      perform bpm_core.publish_starts(p_tenant_id, v_definition.id, v_id, null);
      update bpm_core.process_definition d set published_version_id = null where d.tenant_id = p_tenant_id and d.id = v_definition.id;
    end if;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'DeprecateProcess', 'process', p_code, p_version, p_reason,
      jsonb_build_object('was_current', coalesce(v_definition.published_version_id = v_id, false)));
  end if;
  return query select p_code, p_version, 'Done'::bpm.outcome;
end
$$;
