-- Enters the idempotency key of a sending again.
-- Returns:  uuid, the command that the first call with this key wrote; p_new without a key or where this is the first.
-- Raises:   BP409 the key was used for another request. BP422 the key has more than 200 characters.
-- Writes:   idempotency_key.
create or replace function bpm_core.first_sending_again(p_tenant_id text, p_command_id uuid, p_reason text, p_key text, p_new uuid)
returns uuid
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now  timestamptz := bpm_core.now();
  v_hash bytea := sha256(convert_to(p_command_id || ' ' || p_reason, 'UTF8'));
  r_key  record;
begin
  if p_key is null then
    return p_new;
  elsif length(p_key) not between 1 and 200 then
    perform bpm_core.fail('BP422', 'An idempotency key has 1 to 200 characters.', jsonb_build_object('length', length(p_key)));
  end if;
  insert into bpm_core.idempotency_key (tenant_id, operation, key, request_hash, response, created_at, expires_at)
  values (p_tenant_id, 'send_again', p_key, v_hash, jsonb_build_object('command_id', p_new), v_now, v_now + interval '90 days')
  on conflict do nothing;
  select k.request_hash, (k.response ->> 'command_id')::uuid as command_id into r_key
    from bpm_core.idempotency_key k
   where k.tenant_id = p_tenant_id and k.operation = 'send_again' and k.key = p_key;
  if r_key.request_hash <> v_hash then
    perform bpm_core.fail('BP409', format('Idempotency key %L was used for another request.', p_key), jsonb_build_object('key', p_key));
  end if;
  return r_key.command_id;
end
$$;
