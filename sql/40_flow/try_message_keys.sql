-- Locks message keys for this transaction as far as they can be had. Its caller may hold other keys already (a tick opens waits kind by kind, a
-- message may be applied under the lock of its own key), so the order cannot be kept and nobody may wait for long: two that wait for each
-- other's key part after a moment, and a key that somebody forgot to let go of stops only the token that needs it.
-- Returns:  bigint[], the hashes that others hold.
create or replace function bpm_core.try_message_keys(p_hashes bigint[])
returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_hash bigint;
  v_busy bigint[] := array[]::bigint[];
begin
  for v_hash in select distinct h.hash from unnest(p_hashes) h(hash) order by h.hash loop
    if not pg_try_advisory_xact_lock(v_hash) then
      -- Keys are held for milliseconds, so a wait is worth it; but only one per call.
      if cardinality(v_busy) > 0 or not bpm_core.await_message_key(v_hash) then
        v_busy := v_busy || v_hash;
      end if;
    end if;
  end loop;
  return v_busy;
end
$$;
