-- The engine's clock of a test database: the wall clock, moved by what bpm.set_clock and bpm.advance_clock say, for all sessions.
set role bpm_owner;
create or replace function bpm_core.now()
returns timestamptz
language sql volatile parallel safe
as $$ select clock_timestamp() + coalesce((select c.ahead from bpm_core.test_clock c where c.one), interval '0') $$;
reset role;
