-- Broadcasts a signal: every instance of the tenant that waits for its name now gets it, once per wait, with the next ticks, and every process with a start
-- event for it is started. Nobody who
-- begins to wait later does; what is to be kept for one receiver is a message (correlate_message).
-- p_idempotency_key: repeating the call with it gives the first answer and reaches nobody again.
-- Returns:  one row: signal_id, receivers (waits open now, and instances started), is_new (false: repeated idempotency key).
-- Raises:   BP400 name or key missing or too long. BP403. BP409 the key was used for another request. BP422 payload refused. BP429 more than 100,000 receivers.
-- Writes:   signal, inbox, idempotency_key, and the instances it starts. Locks: the key, if there is one; it never waits for an instance.
create or replace function bpm.broadcast_signal(p_name text, p_payload jsonb default '{}', p_idempotency_key text default null, p_tenant_id text default '')
returns table (signal_id uuid, receivers integer, is_new boolean)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
set lock_timeout = '10s'
as $$
declare
  v_first jsonb;
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  if coalesce(length(p_name), 0) not between 1 and 300 then
    perform bpm_core.fail('BP400', 'The name of a signal is a text of 1 to 300 characters.');
  elsif bpm_core.variables_fault(p_payload) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_payload));
  end if;
  if p_idempotency_key is not null then
    v_first := bpm_core.claim_key(p_tenant_id, 'broadcast_signal', p_idempotency_key, bpm_core.request_hash(p_name, p_payload::text), bpm_core.now());
  end if;
  is_new := v_first is null;
  if is_new then
    select s.id, s.receivers into signal_id, receivers from bpm_core.send_signal(p_tenant_id, p_name, bpm_core.decode_variables(p_payload)) s;
    if p_idempotency_key is not null then
      perform bpm_core.answer_key(p_tenant_id, 'broadcast_signal', p_idempotency_key, jsonb_build_object('signal_id', signal_id, 'receivers', receivers));
    end if;
  else
    signal_id := (v_first ->> 'signal_id')::uuid;
    receivers := (v_first ->> 'receivers')::integer;
  end if;
  return next;
end
$$;
