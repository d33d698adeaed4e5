-- Tests only: gives the database the monthly partitions of history it would have if it had been installed at the engine's time now, whenever it was made.
-- Without it a test that counts months fails when the month turns between the making of its database and its own start.
-- Raises:   P0001 when a month it would drop has rows.
-- Writes:   tables bpm_core.history_event_yYYYYmMM. Locks: history_event, access exclusive.
set role bpm_owner;
create or replace function bpm_core.months_as_installed()
returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_last  timestamptz := (date_trunc('month', bpm_core.now() at time zone 'UTC') - interval '1 month') at time zone 'UTC';
  v_month text;
  v_rows  boolean;
begin
  for v_month in
    select b.partition from bpm_core.history_bounds() b
     where b.from_at not between v_last and (v_last at time zone 'UTC' + interval '25 months') at time zone 'UTC'
  loop
    execute format('select exists (select from bpm_core.%I)', v_month) into v_rows;
    if v_rows then
      raise exception '% has rows: call months_as_installed() before anything is written', v_month;
    end if;
    execute format('drop table bpm_core.%I', v_month);
  end loop;
  perform bpm_core.create_history_partitions(24);
end
$$;
revoke execute on function bpm_core.months_as_installed() from public;
reset role;
