-- ready(): what holds for the whole database: schema, partitions, clock, settings, the vacuum horizon.
-- Returns:  health_check rows.
create or replace function bpm_core.upkeep_checks()
returns setof bpm_core.health_check
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ahead   integer := bpm_core.months_ahead();
  v_faults  jsonb;
  v_holders jsonb;
  v_worst   numeric;
begin
  return next bpm_core.schema_check();
  return next row('history_partitions', v_ahead >= 3, v_ahead < 0,
    jsonb_build_object('months_ahead', v_ahead, 'wanted', 3, 'remedy', 'bpm.maintain_partitions()'))::bpm_core.health_check;
  return next row('clock', abs(extract(epoch from bpm_core.now() - clock_timestamp())) < 1, false,
    jsonb_build_object('engine', bpm_core.now(), 'server', clock_timestamp(), 'can_be_set', to_regclass('bpm_core.test_clock') is not null))::bpm_core.health_check;
  select coalesce(jsonb_object_agg(s.name, bpm_core.setting_fault(s.name, s.value)), '{}') into v_faults
    from bpm_core.setting s
   where bpm_core.setting_fault(s.name, s.value) is not null;
  return next row('settings', v_faults = '{}', false, v_faults)::bpm_core.health_check;
  select coalesce(jsonb_agg(to_jsonb(h)), '[]'), max(h.seconds) into v_holders, v_worst
    from bpm_core.horizon_holders() h
   where h.seconds > 60 or h.seconds is null or h.transactions > 100000;
  return next row('vacuum_horizon', coalesce(v_worst, 0) < 600, false, jsonb_build_object('holders', v_holders))::bpm_core.health_check;
end
$$;
