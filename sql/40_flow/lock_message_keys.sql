-- Locks message keys for this transaction, in ascending order of their hashes: the last class of the lock order. For callers that hold no key yet.
-- Raises:   55P03 after the caller's lock_timeout.
create or replace function bpm_core.lock_message_keys(p_hashes bigint[])
returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hash bigint;
begin
  for v_hash in select distinct h.hash from unnest(p_hashes) h(hash) order by h.hash loop
    perform pg_advisory_xact_lock(v_hash);
  end loop;
end
$$;
