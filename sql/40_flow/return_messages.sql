-- Takes messages back from waits that closed before they could be applied, and offers those whose time is not over again, under the locks of
-- their keys.
-- Raises:   55P03 another call holds one of the keys: apply_inbox leaves the row for the next tick.
-- Writes:   message, inbox.
create or replace function bpm_core.return_messages(p_tenant_id text, p_messages uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_now timestamptz := bpm_core.now();
begin
  if cardinality(p_messages) = 0 then
    return;
  end if;
  if bpm_core.try_message_keys(array(
       select bpm_core.message_key_hash(m.tenant_id, m.name, m.correlation_key)
         from (select p_tenant_id as tenant_id, k.* from unnest(p_messages) k(id) offset 0) k
         join bpm_core.message m on m.tenant_id = k.tenant_id and m.id = k.id)) <> '{}' then
    perform bpm_core.fail('55P03', 'Another call holds the key of a message to be given back.');
  end if;
  update bpm_core.message m
     set state = case when m.expires_at > v_now then 'Buffered' else 'Expired' end::bpm_core.message_state, correlated_to = null
    from (select p_tenant_id as tenant_id, k.* from unnest(p_messages) k(id) offset 0) k
   where m.tenant_id = k.tenant_id and m.id = k.id;
  perform bpm_core.offer_message(m.tenant_id, m.id, false)
     from (select p_tenant_id as tenant_id, k.* from unnest(p_messages) k(id) offset 0) k
    cross join lateral (select m.tenant_id, m.id, m.state from bpm_core.message m where m.tenant_id = k.tenant_id and m.id = k.id offset 0) m
    where m.state = 'Buffered';
end
$$;
