-- Keeps what a receiver said within bounds: beyond 64 kB only its size and hash are kept. To refuse it would turn a delivery into an unknown one.
-- Returns:  jsonb.
create or replace function bpm_core.cap_json(p_value jsonb)
returns jsonb
language sql immutable parallel safe
as $$
  select case when octet_length(p_value::text) > 65536
              then jsonb_build_object('omitted_bytes', octet_length(p_value::text),
                                      'sha256', encode(sha256(convert_to(p_value::text, 'UTF8')), 'hex'))
              else p_value end
$$;
