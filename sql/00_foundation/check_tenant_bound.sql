-- The door of calls that say how much of the engine a tenant may use: for an admin of the tenant without a name, not for the tenant itself.
-- Returns:  text, who acts.
-- Raises:   BP400 no tenant. BP403 not admin of the tenant without a name. BP404 no such tenant. BP422 an over-long reason.
create or replace function bpm_core.check_tenant_bound(p_which text, p_reason text, p_actor text, p_tenant_id text)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if p_tenant_id <> '' then
    perform bpm_core.fail('BP403', 'Only an admin of the tenant without a name says how much a tenant may use.', null, 'Leave p_tenant_id out.');
  end if;
  perform bpm_core.check_reason(p_reason);
  if p_which is null then
    perform bpm_core.fail('BP400', 'Which tenant? It is null.');
  elsif not exists (select from bpm_core.tenant t where t.tenant_id = p_which) then
    perform bpm_core.fail('BP404', format('There is no tenant %L.', left(p_which, 200)));
  end if;
  return bpm_core.acting_as('', p_actor);
end
$$;
