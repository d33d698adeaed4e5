-- Where commands that ended stood before others of their key, the next of each is due now.
-- Locks before it looks: a claim that is just putting it to sleep is waited for; claims wait for nobody.
-- Writes:   outbox.
create or replace function bpm_core.wake_sequences(p_tenant_id text, p_ended uuid[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off  set enable_hashjoin = off  set enable_mergejoin = off
set jit = off
as $$
declare
  v_keys bpm_core.outbox[];
  v_next uuid[];
begin
  v_keys := array(
    select distinct on (o.destination_id, o.sequence_key) o::bpm_core.outbox
      from (select p_tenant_id as tenant_id, e.id from unnest(p_ended) e(id) offset 0) e
      join bpm_core.outbox o on o.tenant_id = e.tenant_id and o.id = e.id
     where o.sequence_key is not null
     order by o.destination_id, o.sequence_key);
  if cardinality(v_keys) = 0 then
    return;
  end if;
  v_next := array(
    select x.id
      from unnest(v_keys) k
     cross join lateral (
       select x.id, x.state, x.available_at
         from bpm_core.outbox x
        where x.destination_id = k.destination_id and x.sequence_key = k.sequence_key and x.ended_at is null and x.tenant_id = p_tenant_id
        order by x.id
        limit 1
          for no key update) x
     where x.state = 'Pending' and x.available_at = 'infinity');
  update bpm_core.outbox o
     set available_at = bpm_core.now()
    from (select p_tenant_id as tenant_id, n.id from unnest(v_next) n(id) offset 0) n
   where o.tenant_id = n.tenant_id and o.id = n.id;
end
$$;
