-- Closes a business case: nothing more is expected. What starts under its key later opens it again.
-- p_expected_version: its lock_version as it was seen; null: whatever it is.
-- Returns:  one row: business_case_id, state, lock_version, is_new (false: it was closed already).
-- Raises:   BP403, BP404 no such case, BP409 instances of it have not ended, or the version moved, BP422 reason too long.
-- Writes:   business_case, audit_event. Locks: business_case, for update: starts under its key are waited for, and wait.
create or replace function bpm.close_case(
  p_business_key text, p_expected_version integer default null, p_reason text default null, p_actor text default null, p_tenant_id text default '')
returns table (business_case_id uuid, state text, lock_version integer, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_open  integer;
  r_case  bpm_core.business_case;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  -- The strongest lock: each start under the key holds the case as what its instance refers to. Those under way are waited for, and seen below; later ones
  -- wait for this.
  select c.* into r_case from bpm_core.business_case c where c.business_key = p_business_key and c.tenant_id = p_tenant_id for update;
  if not found then
    perform bpm_core.fail('BP404', format('There is no business case %L.', left(p_business_key, 300)), null, 'See the view bpm.business_case.');
  end if;
  is_new := r_case.state = 'Open';
  if is_new then
    v_open := cardinality(bpm_core.open_instances_of(p_tenant_id, p_business_key, null));
    if p_expected_version <> r_case.lock_version then
      perform bpm_core.fail('BP409', format('The case has version %s.', r_case.lock_version), jsonb_build_object('lock_version', r_case.lock_version), 'Look at it again.');
    elsif v_open > 0 then
      perform bpm_core.fail('BP409', format('%s of its process instances have not ended.', v_open), jsonb_build_object('open_instances', v_open), 'See the view bpm.instance.');
    end if;
    update bpm_core.business_case c
       set state = 'Closed', lock_version = c.lock_version + 1
     where c.tenant_id = p_tenant_id and c.id = r_case.id
    returning c.* into r_case;
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'CloseCase', 'business_case', r_case.id::text, r_case.lock_version, p_reason);
  end if;
  return query select r_case.id, r_case.state, r_case.lock_version, is_new;
end
$$;
