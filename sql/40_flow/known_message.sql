-- The message an earlier call with this message id stored.
-- Returns:  uuid. Raises: BP409 when that was another message.
create or replace function bpm_core.known_message(p_tenant_id text, p_name text, p_correlation_key text, p_payload jsonb, p_message_id text)
returns uuid
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  r_known bpm_core.message;
begin
  select m.* into r_known from bpm_core.message m where m.tenant_id = p_tenant_id and m.message_id = p_message_id;
  if r_known.name <> p_name or r_known.correlation_key <> p_correlation_key
     or r_known.content_hash <> bpm_core.answer_hash(bpm_core.decode_variables(p_payload), null) then
    perform bpm_core.fail('BP409', format('Message id %L was used for another message.', p_message_id),
      jsonb_build_object('message_id', p_message_id, 'id', r_known.id), 'Use a fresh message id, or repeat the message unchanged.');
  end if;
  return r_known.id;
end
$$;
