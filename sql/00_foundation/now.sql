-- The engine's clock: the wall clock, not the start of the transaction. Test kits replace this function to move time.
-- Returns:  timestamptz, now. Volatile: read it once into a local, after the lock (a volatile call cannot be an index condition).
create or replace function bpm_core.now()
returns timestamptz
language sql volatile parallel safe
as $$ select clock_timestamp() $$;
