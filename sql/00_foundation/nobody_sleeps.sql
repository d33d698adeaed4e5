-- Does no runner sleep? Who is told yes shares the lock of sleepers to the end of the transaction: one that is about to sleep waits for that and looks once more
-- (decision 0038). Inlined into its caller; wake_sleepers is for when it says no.
-- Locks: the advisory lock of sleepers, shared, without waiting.
create or replace function bpm_core.nobody_sleeps()
returns boolean
language sql volatile
as $$ select pg_try_advisory_xact_lock_shared(1885823597, 1) $$;
