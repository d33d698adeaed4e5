-- Unties columns of ours from the host's table. Nothing else changes on either side.
-- Returns:  boolean, true.
-- Raises:   BP403. BP404 no such tie. BP503 a table is locked.
-- Writes:   drops the constraint; audit_event. Locks: both tables, for a moment.
create or replace function bpm.detach_identity(p_identity text, p_actor text default null, p_tenant_id text default '')
returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
  r_tie bpm_core.identity_tie;
begin
  perform bpm_core.enter_identity(p_tenant_id);
  p_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  r_tie := bpm_core.known_tie(p_identity);
  execute format('alter table %s drop constraint %I', r_tie.bound_table, r_tie.identity);
  perform bpm_core.write_audit(p_tenant_id, p_actor, 'DetachIdentity', 'identity', r_tie.identity, null, null,
    jsonb_build_object('columns', r_tie.columns, 'host_table', r_tie.host_table::text, 'host_columns', r_tie.host_columns));
  return true;
exception
  when lock_not_available then
    perform bpm_core.fail('BP503', 'One of the tables is locked by somebody else.', null, 'Try again; nothing was changed.');
end
$$;
