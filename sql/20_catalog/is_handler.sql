-- Whether an activity is drawn as a compensation handler.
create or replace function bpm_core.is_handler(p_attributes jsonb)
returns boolean
language sql immutable parallel safe
as $$ select coalesce(lower(btrim(p_attributes ->> 'isForCompensation')) in ('true', '1'), false) $$;
