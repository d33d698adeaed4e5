-- ready(): which migration the database stands at, and which interface it serves.
-- Returns:  health_check. Without a ledger (loaded from sources, as tests do) it is a warning.
create or replace function bpm_core.schema_check()
returns bpm_core.health_check
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_ledger  regclass := to_regclass('bpm_core.schema_migrations');
  v_version integer;
  v_name    text;
  v_detail  jsonb := (select jsonb_build_object('api_lowest', v.lowest, 'api_highest', v.highest) from bpm.api_version() v);
begin
  if v_ledger is null then
    return row('schema', false, false, v_detail || '{"ledger": "absent: run pgbpm migrate"}')::bpm_core.health_check;
  end if;
  execute format('select m.version, m.name from %s m order by m.version desc limit 1', v_ledger) into v_version, v_name;
  return row('schema', v_version is not null, true, v_detail || jsonb_build_object('version', v_version, 'name', v_name))::bpm_core.health_check;
end
$$;
