-- Starts a process again that failed or was cancelled: a new instance of the same version, with the same business key, the values it was started with and the
-- variables its workflow had, or had after the row p_upto of its history. It begins at its start event or at the node named; the old one stays as it is. A
-- process of several workflows begins as a whole, with the variables the process had.
-- p_node_id: a node outside of every sub-process that a flow leads to, and no join. p_idempotency_key: repeating the call gives the first answer.
-- Returns:  one row: process_instance_id, workflow_instance_id, status, is_new (false: repeated idempotency key).
-- Raises:   BP403, BP404, BP409 it did not fail and was not cancelled, or the key was used for another request; BP422 not at that node, and why; a node or a
--           row of history for a process of several workflows; key or reason too long.
-- Writes:   as start_processes; history_event, audit_event.
create or replace function bpm.restart_process(
  p_process_instance_id uuid, p_node_id text default null, p_upto bigint default null, p_idempotency_key text default null, p_reason text default null,
  p_actor text default null, p_tenant_id text default '')
returns table (process_instance_id uuid, workflow_instance_id uuid, status text, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_actor text;
  v_now   timestamptz := bpm_core.now();
  v_start bpm_core.start;
begin
  perform bpm_core.enter_call(p_tenant_id, 'operator');
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  perform bpm_core.check_reason(p_reason);
  if length(p_idempotency_key) not between 1 and 300 then
    perform bpm_core.fail('BP422', 'An idempotency key has 1 to 300 characters.', jsonb_build_object('length', length(p_idempotency_key)));
  end if;
  v_start := bpm_core.restartable(p_tenant_id, p_process_instance_id);
  if v_start.is_several and num_nonnulls(p_node_id, p_upto) > 0 then
    perform bpm_core.fail('BP422', format('Process instance %s has several workflows; it is started again as a whole only.', p_process_instance_id));
  end if;
  if p_idempotency_key is not null then
    v_start.idempotency_key := p_idempotency_key;
    v_start.request_hash := sha256(convert_to(concat_ws(chr(31), 'restart', p_process_instance_id, coalesce(p_node_id, ''), coalesce(p_upto::text, '')), 'UTF8'));
    v_start := (bpm_core.settle_start_keys(p_tenant_id, array[v_start], v_now))[1];
    if v_start.outcome = 'Conflict' then
      perform bpm_core.fail('BP409', v_start.message, null, 'Use a fresh key, or repeat the request unchanged.');
    end if;
  end if;
  if v_start.outcome is null then
    perform bpm_core.begin_again(p_tenant_id, p_process_instance_id, v_start, p_node_id, bpm_core.variables_at(
      p_tenant_id, bpm_core.first_workflow(p_tenant_id, p_process_instance_id), p_upto), v_actor, p_reason, v_now);
  end if;
  return query
  select v_start.process_instance_id, v_start.workflow_instance_id, bpm_core.last_status(p_tenant_id, v_start.process_instance_id)::text, v_start.outcome is null;
end
$$;
