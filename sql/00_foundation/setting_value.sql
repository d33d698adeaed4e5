-- Reads an engine setting.
-- Returns:  jsonb, the value set or p_default.
create or replace function bpm_core.setting_value(p_name text, p_default jsonb)
returns jsonb
language sql stable parallel safe
as $$ select coalesce((select s.value from bpm_core.setting s where s.name = p_name), p_default) $$;
