-- Validates a tie to the host's table: from then on every row of ours is known there, and the planner may rely on it.
-- Returns:  boolean: true; false: it was valid before.
-- Raises:   BP403. BP404 no such tie. BP409 values are missing at the host (detail: how many, some of them); complete them there first. BP503 a table is locked.
-- Writes:   the constraint, audit_event. Locks: our table, share update exclusive: readers and writers go on.
create or replace function bpm.validate_identity(p_identity text, p_actor text default null, p_tenant_id text default '')
returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
  r_tie     bpm_core.identity_tie;
  r_missing record;
begin
  perform bpm_core.enter_identity(p_tenant_id);
  p_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  r_tie := bpm_core.known_tie(p_identity);
  if r_tie.is_valid then
    return false;
  end if;
  select m.* into r_missing from bpm_core.missing_at_host(r_tie, 20) m;
  if r_missing.missing = 0 then
    begin
      execute format('alter table %s validate constraint %I', r_tie.bound_table, r_tie.identity);
      perform bpm_core.write_audit(p_tenant_id, p_actor, 'ValidateIdentity', 'identity', r_tie.identity);
      return true;
    exception
      when foreign_key_violation then  -- taken away since we looked
        select m.* into r_missing from bpm_core.missing_at_host(r_tie, 20) m;
    end;
  end if;
  perform bpm_core.fail('BP409', format('%s values of %s are not in %s.', r_missing.missing, r_tie.identity, r_tie.host_table),
    jsonb_build_object('missing', r_missing.missing, 'samples', r_missing.samples), 'The host completes them; see bpm.identity_report().');
exception
  when lock_not_available then
    perform bpm_core.fail('BP503', 'One of the tables is locked by somebody else.', null, 'Try again; nothing was changed.');
end
$$;
