-- Gives the database the monthly partitions of history it would have if it had been installed at the engine's time now, whenever it was made.
-- Without it a test that counts months fails when the month turns between the making of its database and its own start.
-- Raises P0001 when a month it would drop has rows: it is to be called before anything is written.
create or replace function test.months_as_installed()
returns void
language plpgsql
set role = 'bpm_owner'
as $$
declare
  v_first timestamp := date_trunc('month', bpm_core.now() at time zone 'UTC') - interval '1 month';
  v_month text;
  v_rows  boolean;
begin
  for v_month in
    select b.partition from bpm_core.history_bounds() b
     where b.from_at at time zone 'UTC' not between v_first and v_first + interval '25 months'
  loop
    execute format('select exists (select from bpm_core.%I)', v_month) into v_rows;
    if v_rows then
      raise exception '% has rows', v_month;
    end if;
    execute format('drop table bpm_core.%I', v_month);
  end loop;
  perform bpm_core.create_history_partitions(24);
end
$$;
