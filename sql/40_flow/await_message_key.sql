-- Waits a moment for a message key somebody holds, shorter than the server takes to look for deadlocks.
-- Returns:  boolean, whether it is locked for this transaction now.
create or replace function bpm_core.await_message_key(p_hash bigint)
returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set lock_timeout = '200ms'
as $$
begin
  perform pg_advisory_xact_lock(p_hash);
  return true;
exception
  when lock_not_available then
    return false;
end
$$;
