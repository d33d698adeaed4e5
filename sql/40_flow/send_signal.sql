-- Sends a signal to every wait of the tenant that is open for it: an inbox row each, for tick to apply under the locks of their instances.
-- Waits are read without a lock: one that closes meanwhile does not get it, one that opens later does not either.
-- Returns:  signal, with the number of receivers.
-- Raises:   BP429 more than 100,000 receivers.
-- Writes:   signal, inbox.
create or replace function bpm_core.send_signal(p_tenant_id text, p_name text, p_payload jsonb)
returns bpm_core.signal
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_limit  constant integer := 100000;
  v_signal bpm_core.signal;
begin
  v_signal := row(p_tenant_id, bpm_core.new_id(), p_name, p_payload, 0, bpm_core.now())::bpm_core.signal;
  insert into bpm_core.inbox (tenant_id, id, target_kind, target_id, kind, payload, available_at)
  select s.tenant_id, bpm_core.new_id(), 'WorkflowInstance', s.workflow_instance_id, 'Signal',
         jsonb_build_object('signal', v_signal.id, 'subscription', s.id), bpm_core.now()
    from bpm_core.subscription s
   where s.state = 'Open' and s.name = p_name and s.correlation_key is null and s.tenant_id is not distinct from p_tenant_id and s.kind = 'Signal'
   limit v_limit + 1;
  get diagnostics v_signal.receivers = row_count;
  if v_signal.receivers > v_limit then
    perform bpm_core.fail('BP429', format('Signal %s has more than %s receivers.', p_name, v_limit), jsonb_build_object('signal', p_name, 'limit', v_limit));
  end if;
  insert into bpm_core.signal select v_signal.*;
  return v_signal;
end
$$;
