-- The door of every public function: may this caller do this for this tenant, and is the transaction of a kind we can be right in?
-- Looks nothing else up before; an unknown tenant and one that is not granted get the same answer.
-- Returns:  true, or it raises: so that hot functions can ask in an IF of its own, which costs less than the query of a PERFORM.
--           Never together with a condition of another kind: what folds to false would leave out the question.
-- Raises:   BP400 null tenant or isolation level other than READ COMMITTED. BP403 not granted. BP423 tenant suspended (unless only reading).
create or replace function bpm_core.enter_call(p_tenant_id text, p_capability bpm_core.capability)
returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
as $$
declare
  v_caller text;
  v_state  text;
begin
  -- Most callers have a grant of their own for this very tenant: one question, asked with every call. The rest of this function knows the others, and says why not.
  if exists (
    select
      from bpm_core.tenant t
     where t.tenant_id = p_tenant_id and t.state = 'Active' and current_setting('transaction_isolation') = 'read committed'
       and exists (select from bpm_core.tenant_grant g where g.role_name = bpm_core.caller() and g.tenant_pattern = p_tenant_id and g.capability >= p_capability))
  then
    return true;
  end if;
  if p_tenant_id is null then
    perform bpm_core.fail('BP400', 'The tenant is null.', null, 'Pass p_tenant_id, or leave it out for the tenant without a name.');
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    perform bpm_core.fail('BP400', format('Isolation level %s is not supported.', current_setting('transaction_isolation')),
      null, 'Call in READ COMMITTED: the engine locks first and looks afterwards.');
  end if;
  v_caller := bpm_core.caller();
  v_state := (select t.state from bpm_core.tenant t where t.tenant_id = p_tenant_id);
  if v_state is null or not bpm_core.is_granted(v_caller, p_tenant_id, p_capability) then
    perform bpm_core.fail('BP403', format('Role %s has no %s grant for tenant %L.', v_caller, p_capability, p_tenant_id),
      jsonb_build_object('role', v_caller, 'tenant_id', p_tenant_id, 'capability', p_capability),
      case p_tenant_id when '' then 'Pass p_tenant_id if you work for another tenant; else an admin grants this one with bpm.grant_access.'
                       else 'An admin creates the tenant with bpm.create_tenant and grants it with bpm.grant_access.' end);
  elsif v_state = 'Suspended' and p_capability <> 'reader' then
    perform bpm_core.fail('BP423', format('Tenant %L is suspended.', p_tenant_id));
  end if;
  return true;
end
$$;
