-- Bootstrap, run by the installer before any migration, as often as wanted: roles and the two schemas.
-- Roles are global to a server, so another database (or another installer at the same moment) may have made them already.
do $bootstrap$
declare
  v_role text;
begin
  foreach v_role in array array['bpm_owner', 'bpm_reader', 'bpm_worker', 'bpm_operator', 'bpm_admin'] loop
    begin
      if not exists (select 1 from pg_catalog.pg_roles r where r.rolname = v_role) then
        execute format('create role %I nologin', v_role);
      end if;
    exception
      when duplicate_object or unique_violation then null;
    end;
  end loop;
  if not pg_has_role(current_user, 'bpm_owner', 'member') then
    execute format('grant bpm_owner to %I', current_user);
  end if;
  -- Lets ready() name who holds the vacuum horizon. Where the installer may not grant it, ready() sees its own sessions alone.
  begin
    if not pg_has_role('bpm_owner', 'pg_read_all_stats', 'member') then
      grant pg_read_all_stats to bpm_owner;
    end if;
  exception
    when insufficient_privilege or unique_violation then null;
  end;
  execute format('grant create on database %I to bpm_owner', current_database());
end
$bootstrap$;
create schema if not exists bpm authorization bpm_owner;
create schema if not exists bpm_core authorization bpm_owner;
