-- Says which tenant a session of the host application belongs to, or changes what is known of it: what is not given falls back to nothing.
-- Returns:  uuid, the link.
-- Raises:   BP400 channel or session missing; one of the texts empty or too long. BP403. BP409 the host does not know this session, tenant or group (attach_identity).
-- Writes:   session_scope_link.
create or replace function bpm.link_session(
  p_channel text, p_session_id text, p_group_id text default null, p_display_name text default null, p_tenant_id text default '')
returns uuid
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '10s'
as $$
declare
  v_id  uuid;
  v_now timestamptz := bpm_core.now();
begin
  perform bpm_core.enter_call(p_tenant_id, 'worker');
  if coalesce(length(p_channel), 0) not between 1 and 200 or coalesce(length(p_session_id), 0) not between 1 and 300
     or length(p_group_id) not between 1 and 300 or length(p_display_name) > 300 then
    perform bpm_core.fail('BP400', 'A session is named by a channel of 1 to 200 and an id of 1 to 300 characters; group and display name have at most 300.');
  end if;
  insert into bpm_core.session_scope_link as l (tenant_id, id, channel, session_id, group_id, display_name, created_at, updated_at)
  values (p_tenant_id, bpm_core.new_id(), p_channel, p_session_id, p_group_id, p_display_name, v_now, v_now)
  on conflict (tenant_id, channel, session_id) do update
     set group_id = excluded.group_id, display_name = excluded.display_name, updated_at = excluded.updated_at
  returning l.id into v_id;
  return v_id;
exception
  when foreign_key_violation then
    perform bpm_core.fail('BP409', format('The host application does not know session %L of channel %L, its tenant or its group.', p_session_id, p_channel), null,
      'It comes first there: see bpm.identity_report().');
end
$$;
