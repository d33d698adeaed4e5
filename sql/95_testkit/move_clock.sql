-- Moves the engine's clock of a test database; history of the time it shows then has a partition to go to.
-- p_ahead: how far ahead of the wall clock, null to put it back. Returns: timestamptz, the engine's time now.
set role bpm_owner;
create or replace function bpm_core.move_clock(p_ahead interval)
returns timestamptz
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_ahead is null then
    delete from bpm_core.test_clock c where c.one;
  else
    insert into bpm_core.test_clock as c (ahead) values (p_ahead)
    on conflict (one) do update set ahead = excluded.ahead;
    perform bpm_core.create_history_partitions(1);
  end if;
  return bpm_core.now();
end
$$;
revoke execute on function bpm_core.move_clock(interval) from public;
reset role;
