-- Which picker does which part of a tick.
-- Returns:  done, next_position, next_due_at.
create or replace function bpm_core.tick_kind(
  p_kind text, p_tenant_id text, p_limit integer, p_position bpm_core.pick_position, p_now timestamptz,
  out done integer, out next_position bpm_core.pick_position, out next_due_at timestamptz)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  case p_kind
    when 'timers' then
      select t.* into done, next_position, next_due_at from bpm_core.tick_timers(p_tenant_id, p_limit, p_position, p_now) t;
    when 'inbox' then
      select t.* into done, next_position, next_due_at from bpm_core.tick_inbox(p_tenant_id, p_limit, p_position, p_now) t;
    when 'tokens' then
      select t.* into done, next_position, next_due_at from bpm_core.tick_tokens(p_tenant_id, p_limit, p_position, p_now) t;
    when 'leases' then
      select t.* into done, next_position, next_due_at from bpm_core.tick_leases(p_tenant_id, p_limit, p_position, p_now) t;
    when 'messages' then
      select t.* into done, next_position, next_due_at from bpm_core.tick_messages(p_tenant_id, p_limit, p_position, p_now) t;
    when 'commands' then
      select t.* into done, next_position, next_due_at from bpm_core.tick_commands(p_tenant_id, p_limit, p_position, p_now) t;
    when 'unknown' then
      select t.* into done, next_position, next_due_at from bpm_core.tick_unknown(p_tenant_id, p_limit, p_position, p_now) t;
  end case;
end
$$;
