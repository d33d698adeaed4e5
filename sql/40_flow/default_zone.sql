-- The time zone of timers that name none.
-- Returns:  text, the setting engine.time_zone, or UTC.
create or replace function bpm_core.default_zone()
returns text
language sql stable parallel safe
as $$ select bpm_core.setting_value('engine.time_zone', '"UTC"') #>> '{}' $$;
