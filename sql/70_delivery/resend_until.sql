-- Until when a command the receiver may have seen may be sent again: its whole lease must lie within the receiver's memory of our key.
-- Returns:  timestamptz.
create or replace function bpm_core.resend_until(p_first_sent_at timestamptz, p_destination jsonb)
returns timestamptz
language sql stable parallel safe
as $$ select p_first_sent_at + (p_destination ->> 'key_retention')::interval - (p_destination ->> 'lease')::interval $$;
