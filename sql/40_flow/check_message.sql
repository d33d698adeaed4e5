-- The arguments of correlate_message.
-- Raises:   BP400, BP422.
create or replace function bpm_core.check_message(p_name text, p_correlation_key text, p_payload jsonb, p_ttl interval, p_message_id text)
returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
  if coalesce(length(p_name), 0) not between 1 and 300 or coalesce(length(p_correlation_key), 0) not between 1 and 300
     or length(p_message_id) not between 1 and 300 then
    perform bpm_core.fail('BP400', 'Name, correlation key and message id are texts of 1 to 300 characters.');
  elsif p_ttl is null or p_ttl not between interval '0' and interval '365 days' then
    perform bpm_core.fail('BP400', 'The time to live is 0 to 365 days.', jsonb_build_object('ttl', p_ttl));
  elsif bpm_core.variables_fault(p_payload) is not null then
    perform bpm_core.fail('BP422', bpm_core.variables_fault(p_payload));
  end if;
end
$$;
