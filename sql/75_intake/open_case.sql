-- Opens a business case before anything runs for it, or again after it was closed. Starting a process with its key does the same.
-- Returns:  one row: business_case_id, state, lock_version, is_new (false: it was open already).
-- Raises:   BP400 key not of 1 to 300 characters, BP403.
-- Writes:   business_case, audit_event.
create or replace function bpm.open_case(p_business_key text, p_actor text default null, p_tenant_id text default '')
returns table (business_case_id uuid, state text, lock_version integer, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  r_case  bpm_core.business_case;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  if coalesce(length(p_business_key), 0) not between 1 and 300 then
    perform bpm_core.fail('BP400', 'A business key has 1 to 300 characters.');
  end if;
  insert into bpm_core.business_case as c (tenant_id, id, business_key, created_at)
  values (p_tenant_id, bpm_core.new_id(), p_business_key, bpm_core.now())
  on conflict (business_key, tenant_id) do nothing
  returning c.* into r_case;
  is_new := r_case.id is not null;
  if not is_new then
    select c.* into r_case from bpm_core.business_case c where c.business_key = p_business_key and c.tenant_id = p_tenant_id for no key update;
    if r_case.state = 'Closed' then
      is_new := true;
      update bpm_core.business_case c
         set state = 'Open', lock_version = c.lock_version + 1
       where c.tenant_id = p_tenant_id and c.id = r_case.id
      returning c.* into r_case;
    end if;
  end if;
  if is_new then
    perform bpm_core.write_audit(p_tenant_id, v_actor, 'OpenCase', 'business_case', r_case.id::text, r_case.lock_version);
  end if;
  return query select r_case.id, r_case.state, r_case.lock_version, is_new;
end
$$;
