-- Deletes a process, workflow, task or role with all its versions, if nothing refers to any of them. It has to be archived for a minute: whoever read it
-- before has ended by then.
-- p_kind: process, workflow, task or role.
-- Returns:  one row: kind, code, versions (how many were deleted), outcome Done.
-- Raises:   BP400 unknown kind. BP403. BP404 nothing of that code. BP409 it is not archived, or not for a minute yet; it is referred to: detail
--           {"referred_by": [{"kind", "code", "version"} or {"kind", "count"}]}, of very many the first 100. BP422 reason too long.
-- Writes:   the tables of the definition and its versions, start timers and waits, audit_event.
-- Locks:    the definition row.
create or replace function bpm.delete_definition(
  p_kind text, p_code text, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (kind text, code text, versions integer, outcome bpm.outcome)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor    text;
  v_versions integer;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  perform bpm_core.check_deletable(p_tenant_id, p_kind, p_code);
  v_versions := bpm_core.delete_unreferred(p_tenant_id, p_kind, p_code);
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'DeleteDefinition', p_kind, p_code, null, p_reason, jsonb_build_object('versions', v_versions));
  return query select p_kind, p_code, v_versions, 'Done'::bpm.outcome;
end
$$;
