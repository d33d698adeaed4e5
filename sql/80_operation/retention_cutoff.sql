-- Until when has something to have ended, been decided or been removed to have had its time?
-- Returns:  timestamptz; null: it is kept for ever.
create or replace function bpm_core.retention_cutoff(p_kind text, p_tenant_id text, p_now timestamptz)
returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_event_days integer := (bpm_core.setting_value('retention.event_days', 'null') #>> '{}')::integer;
begin
  return case p_kind
    when 'instances' then (bpm_core.retention_cutoffs(p_tenant_id, p_now)).latest
    when 'events' then p_now - make_interval(days => v_event_days)
    -- A message_id is to be known again as long as an idempotency key.
    when 'messages' then least(p_now - make_interval(days => v_event_days), p_now - (bpm_core.key_expiry(p_now) - p_now))
    when 'signals' then p_now - make_interval(days => v_event_days)
    when 'traces' then case when bpm_core.setting_value('retention.history_months', 'null') <> 'null' then bpm_core.history_since() end
  end;
end
$$;
