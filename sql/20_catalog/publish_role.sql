-- Publishes who owns workflows: a new version, or an identical one again. Workflows published from now on can be pinned to it; those before keep theirs.
-- p_definition: {"responsibilities": [texts], "policy": {…}, "capabilities": [texts], "context_profile": {…}}, each optional. No names of models or
-- providers: who does the work is decided where it is done.
-- Returns:  version number, and whether it is new.
-- Raises:   BP400 no code, or too long. BP422 unknown key, or a value of another kind. BP403. BP503 it was deleted meanwhile.
-- Writes:   role_definition, role_version, audit_event.
-- Locks:    the role_definition row.
create or replace function bpm.publish_role(p_code text, p_definition jsonb default '{}', p_actor text default null, p_tenant_id text default '')
returns table (version integer, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_actor text;
  v_moved boolean;
  v_fault text;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if not bpm_core.is_code(p_code) then
    perform bpm_core.fail('BP400', 'The code of a role has 1 to 200 characters.');
  end if;
  v_fault := bpm_core.role_problem(p_definition);
  if v_fault is not null then
    perform bpm_core.fail('BP422', v_fault, jsonb_build_object('code', btrim(p_code)), 'See publish_role in the reference.');
  end if;
  select s.version, s.is_new, s.moved into version, is_new, v_moved from bpm_core.store_role_version(p_tenant_id, btrim(p_code), p_definition, v_actor) s;
  if v_moved then
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'PublishRole', 'role', btrim(p_code), version, null, jsonb_build_object('is_new', is_new));
  end if;
  return next;
end
$$;
