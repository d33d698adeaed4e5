-- Sets an engine setting; null puts it back to its default. Settings hold for every tenant.
-- Returns:  jsonb, the value now set; null when it is the default.
-- Raises:   BP400 unknown name or a value of another kind or range. BP403 not admin of the tenant without a name.
-- Writes:   setting, audit_event.
create or replace function bpm.set_setting(p_name text, p_value jsonb, p_actor text default null, p_tenant_id text default '')
returns jsonb
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_value jsonb := nullif(p_value, 'null');
  v_actor text;
  v_fault text;
  v_old   jsonb;
begin
  perform bpm_core.enter_call(p_tenant_id, 'admin');
  if p_tenant_id <> '' then
    perform bpm_core.fail('BP403', 'Settings hold for all tenants; only an admin of the tenant without a name sets them.', null,
      'Leave p_tenant_id out.');
  end if;
  v_actor := bpm_core.acting_as(p_tenant_id, p_actor);
  v_fault := bpm_core.setting_fault(p_name, v_value);
  if v_fault is not null then
    perform bpm_core.fail('BP400', v_fault, jsonb_build_object('name', p_name, 'value', p_value), 'docs/reference/configuration.md lists the settings.');
  end if;
  v_old := bpm_core.setting_value(p_name, null);
  if v_value is null then
    delete from bpm_core.setting s where s.name = p_name;
  else
    insert into bpm_core.setting as s (name, value, updated_at, updated_by)
    values (p_name, v_value, bpm_core.now(), v_actor)
    on conflict (name) do update set value = excluded.value, updated_at = excluded.updated_at, updated_by = excluded.updated_by;
  end if;
  perform bpm_core.write_audit(p_tenant_id, v_actor, 'SetSetting', 'setting', p_name, null, null,
    jsonb_build_object('from', v_old, 'to', v_value));
  return v_value;
end
$$;
