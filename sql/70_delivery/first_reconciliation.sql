-- The answer to a reconciliation of a command that is not (or no longer) Unknown: the first answer if it was reconciled just so.
-- Returns:  text, the state it was given.
-- Raises:   BP409 in every other case; the detail is what stands.
create or replace function bpm_core.first_reconciliation(p_command bpm_core.outbox, p_outcome text, p_receipt jsonb)
returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_last jsonb := (
    select e.detail
      from bpm_core.audit_event e
     where e.tenant_id = p_command.tenant_id and e.aggregate_type = 'command' and e.aggregate_id = p_command.command_id::text
       and e.action = 'ReconcileCommand'
     order by e.at desc
     limit 1);
begin
  if v_last ->> 'outcome' is distinct from p_outcome or coalesce(v_last -> 'receipt', 'null') <> coalesce(p_receipt, 'null') then
    perform bpm_core.fail('BP409',
      format('Command %s is %s; only one that is Unknown can be reconciled.', p_command.command_id, p_command.state),
      jsonb_build_object('command_id', p_command.command_id, 'state', p_command.state, 'reconciled', v_last ->> 'outcome', 'receipt', p_command.receipt));
  end if;
  return v_last ->> 'state';
end
$$;
